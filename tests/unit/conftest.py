"""What the tests of single modules have in common."""

from __future__ import annotations

import time

import pytest

from whimbrel.engine.deps import files


@pytest.fixture(autouse=True)
def ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel whose clock moves on at each change of a file: what a test has just written is cached, whatever the time of day."""
    monkeypatch.setattr(files, "_clock", lambda kind: time.clock_gettime_ns(kind) + 10**9)
