"""Workers that can't be forked, and slots that run out."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Any

import pytest

from whimbrel.server.children import Child, Children
from whimbrel.server.scoreboard import Board
from whimbrel.server.words import EVENT


class Told:
    """A generation that notes what it logs."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []
        self.life = SimpleNamespace(generation=3)
        self.words = EVENT

    def log(self, level: str, text: str, *, code: str = "", module: str = "core") -> None:
        self.lines.append((level, f"{code}: {text}" if code else text))


def test_a_fork_that_fails_is_told_and_tried_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """httpd 2.4: AH00159 fork: Unable to fork new process, with the reason before it, and a pause."""
    def refuse() -> int:
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(os, "fork", refuse)
    children, told = Children(Board(4)), Told()
    generation: Any = told
    children.complete(generation, 1)
    assert told.lines == [("error", "(11)Resource temporarily unavailable: AH00159: fork: Unable to fork new process")]
    assert children.respawn_at is not None and children.respawn_at > time.monotonic()
    assert children.running == {}


def test_when_every_slot_is_taken_the_oldest_has_to_go() -> None:
    children, told = Children(Board(2)), Told()
    generation: Any = told
    sleepers = [subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) for _ in range(2)]
    try:
        for slot, one in enumerate(sleepers):
            children.running[one.pid] = Child(one.pid, slot, slot, float(slot))
        children.complete(generation, 1)
        assert sleepers[0].wait(10) == -signal.SIGTERM
        assert sleepers[1].poll() is None
        assert told.lines == [("error", "AH00485: scoreboard is full, not at MaxRequestWorkers")]
    finally:
        for one in sleepers:
            one.kill()
            one.wait()
