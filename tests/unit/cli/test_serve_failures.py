"""The last severe lines of an error log that `whimbrel serve` prints."""

from __future__ import annotations

from pathlib import Path

from whimbrel.cli.serve_failures import MAX_LINES, MAX_READ, severe_lines
from whimbrel.config.model import LogSink

OLD = b"[Sun Nov 29 00:00:00 2026] [alert] of an earlier server\n"
NOTICE = b"[Sun Nov 29 00:00:01.000001 2026] [mpm_event:notice] [pid 1:tid 1] AH00489: configured\n"
ALERT = b"[Sun Nov 29 00:00:02.000001 2026] [core:alert] [pid 1:tid 1] AH00050: Apache is exiting!\n"
PLAIN = b"httpd: Syntax error on line 1 of a.conf: no\n"


def lines(tmp_path: Path, text: bytes, begin: int = 0) -> list[bytes]:
    """Return what is printed of a log with *text*."""
    (tmp_path / "log").write_bytes(text)
    return severe_lines(LogSink(f"{tmp_path}/log"), begin)


def test_errors_and_lines_without_a_level_are_printed(tmp_path: Path) -> None:
    text = OLD + NOTICE + ALERT + NOTICE + PLAIN
    assert lines(tmp_path, text, len(OLD)) == [ALERT.rstrip(), PLAIN.rstrip()]


def test_without_an_error_the_last_line_is_printed(tmp_path: Path) -> None:
    assert lines(tmp_path, NOTICE + NOTICE) == [NOTICE.rstrip()]
    assert lines(tmp_path, OLD, len(OLD)) == []


def test_a_long_log_is_read_in_part(tmp_path: Path) -> None:
    found = lines(tmp_path, ALERT * 10_000 + b"x" * (MAX_READ - 100) + b"\n" + PLAIN * 50)
    assert found == [PLAIN.rstrip()] * MAX_LINES
    assert sum(map(len, lines(tmp_path, b"y" * (MAX_READ * 3)))) <= MAX_READ


def test_a_log_that_is_no_file_has_no_lines(tmp_path: Path) -> None:
    assert severe_lines(LogSink("cat", piped=True), 0) == []
    assert severe_lines(LogSink("/dev/null"), 0) == []
    assert severe_lines(LogSink(f"{tmp_path}/none"), 0) == []
    assert severe_lines(None, 0) == []
