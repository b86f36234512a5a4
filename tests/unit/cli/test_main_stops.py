"""What no command handles ends it with one sentence and exit code 2."""

from __future__ import annotations

import errno
import os
import sys

import pytest

from whimbrel.cli import main


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        (FileNotFoundError(2, "No such file or directory", b"/a\nFORGED"), "/a\\x0aFORGED: No such file"),
        (PermissionError(13, "Permission denied", "/a"), "/a: Permission denied\n"),
        (OSError(errno.EIO, os.strerror(errno.EIO)), "Input/output error\n"),
        (RecursionError(), "the input is nested too deeply\n"),
        (MemoryError(), "this needs more than 2048 MB of memory\n"),
    ],
)
def test_one_sentence(
    problem: BaseException,
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """A file of the tree may vanish between any two looks at it."""

    def app(*, prog_name: str) -> None:
        raise problem

    for name in ("confine", "limit_process"):
        monkeypatch.setattr(main, name, lambda: None)
    monkeypatch.setattr(sys, "setrecursionlimit", lambda _limit: None)
    monkeypatch.setattr(sys, "argv", ["whimbrel", "check"])
    monkeypatch.setattr(main, "app", app)
    frozen: list[bool] = []
    monkeypatch.setattr(main.gc, "freeze", lambda: frozen.append(True))
    with pytest.raises(SystemExit) as caught:
        main.main()
    assert frozen == [True]  # the end of the process collects nothing, however it comes
    written = capfd.readouterr()
    assert caught.value.code == 2 and written.out == ""
    assert written.err.startswith(f"whimbrel: stopped: {sentence}") and written.err.count("\n") == 1
