"""Logs as pieces: boundaries, compressed files, rotated sets, bounds."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import pytest

from whimbrel.replay.log_files import DAMAGED, MAX_LINE, logs_of, pieces_of

LINES = [b"line %d\n" % number for number in range(1000)]


def test_pieces_are_whole_lines(tmp_path: Path) -> None:
    for name, data in (("plain", b"".join(LINES)), ("packed.gz", gzip.compress(b"".join(LINES)))):
        path = tmp_path / name
        path.write_bytes(data)
        pieces = [piece.read() for piece in pieces_of([str(path)], size=700)]
        assert b"".join(pieces) == b"".join(LINES)
        assert len(pieces) > 5 and all(piece.endswith(b"\n") for piece in pieces)


def test_the_last_line_needs_no_end(tmp_path: Path) -> None:
    for name, data in (("plain", b"a\nb"), ("packed", gzip.compress(b"a\nb"))):
        (tmp_path / name).write_bytes(data)
        assert b"".join(piece.read() for piece in pieces_of([str(tmp_path / name)])) == b"a\nb"


def test_a_huge_line_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "huge.gz"
    path.write_bytes(gzip.compress(b"x" * 5_000_000 + b"\nlast\n"))
    pieces = [piece.read() for piece in pieces_of([str(path)], size=200_000)]
    assert sum(map(len, pieces)) < 600_000
    assert b"".join(pieces).count(b"\n") == 2 and len(b"".join(pieces).split(b"\n")[0]) > MAX_LINE


def test_rotated_sets_begin_with_the_oldest(tmp_path: Path) -> None:
    for name in ("access_log", "access_log.1", "access_log.2.gz", "access_log.10.gz", "access_log_other"):
        (tmp_path / name).touch()
    found = logs_of([str(tmp_path / "access_log")], is_rotated=True)
    assert [Path(path).name for path in found] == [
        *("access_log.10.gz", "access_log.2.gz", "access_log.1", "access_log")
    ]
    assert len(logs_of([str(tmp_path)], is_rotated=False)) == 5
    with pytest.raises(OSError):
        logs_of([str(tmp_path / "none")], is_rotated=True)


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\nb\n")))
    assert [piece.read() for piece in pieces_of(["-"])] == [b"a\nb\n"]


def test_damaged_files(tmp_path: Path) -> None:
    path = tmp_path / "cut.gz"
    path.write_bytes(gzip.compress(b"".join(LINES))[:-20])
    with pytest.raises(DAMAGED):
        list(pieces_of([str(path)]))
