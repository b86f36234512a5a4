"""The progress bar appears on a terminal only."""

from __future__ import annotations

import io
import sys

import pytest

from whimbrel.cli.progress import ProgressBar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("whimbrel.cli.progress._REFRESH_SECONDS", 0.0)
    with ProgressBar() as bar:
        bar.on_file("conf/extra/[odd].conf")
        bar.on_step("rule C17", 3, 40)
        add = bar.byte_counter("replaying", 5_000_000)
        add(1_000_000)
        add(1_500_000)
        bar.on_file("conf/more.conf")
        bar.stop()
        bar.on_step("rule C18", 4, 40)
    return stream.getvalue()


def test_a_terminal_sees_files_and_how_much_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, Terminal())
    assert "reading [odd].conf" in text
    assert "rule C17" in text
    assert "3/40" in text
    assert "2.5 MB/5.0 MB" in text
    assert " 2 " in text
    assert "rule C18" not in text


def test_a_file_sees_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, io.StringIO()) == ""
