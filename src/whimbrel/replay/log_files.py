"""Logs as pieces of whole lines: plain and gzip files, rotated sets, standard input.

A piece has at most PIECE bytes and one line; its boundaries depend on the content alone.
"""

from __future__ import annotations

import gzip
import os
import re
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from whimbrel.base.file_reading import open_regular

PIECE: Final = 4 << 20
MAX_LINE: Final = 64 << 10  # bytes of a line; longer ones are counted as huge
GZIP_MAGIC: Final = b"\x1f\x8b"
STANDARD_INPUT: Final = "-"
ROTATED: Final = re.compile(r"[.-]\d+(?:\.gz)?$|\.gz$")
"""What a rotated log has behind the name of the log."""


class LogPiece(NamedTuple):
    """Whole lines of a log: *data*, or where they are in a plain file. *size*: bytes on disk."""

    path: str
    start: int
    end: int
    data: bytes | None = None

    def read(self) -> bytes:
        """Return the lines; raises OSError."""
        if self.data is not None:
            return self.data
        with os.fdopen(open_regular(self.path), "rb") as file:
            file.seek(self.start)
            return file.read(self.end - self.start)


def logs_of(names: list[str], *, is_rotated: bool) -> list[str]:
    """Return the files of *names*, directories included; *is_rotated* adds the older files of each log
    (``access_log.1``, ``access_log.2.gz``), the oldest first.  Raises OSError.
    """
    found: list[str] = []
    for name in names:
        if name == STANDARD_INPUT:
            found.append(name)
        elif os.path.isdir(name):
            found += sorted(str(path) for path in Path(name).iterdir() if path.is_file())
        else:
            os.stat(name)
            found += [*(reversed(_older(name)) if is_rotated else ()), name]
    return list(dict.fromkeys(found))


def _older(name: str) -> list[str]:
    """Return the rotated files of a log, the newest first."""
    path = Path(name)
    others = [each for each in path.parent.iterdir() if each.name.startswith(path.name) and each != path]
    rotated = [each for each in others if ROTATED.fullmatch(each.name[len(path.name) :])]

    def age(each: Path) -> tuple[int, str]:
        numbers = re.findall(r"\d+", each.name[len(path.name) :])
        return (int(numbers[0]) if numbers else 0), each.name

    return [str(each) for each in sorted(rotated, key=age)]


def size_of(names: list[str]) -> int:
    """Return the bytes on disk of all files, 0 for standard input."""
    return sum(os.path.getsize(name) for name in names if name != STANDARD_INPUT)


def pieces_of(names: list[str], size: int = PIECE) -> Iterator[LogPiece]:
    """Iterate over the pieces of all logs in order.  Raises OSError, or EOFError and zlib.error for a damaged
    gzip file.
    """
    for name in names:
        if name == STANDARD_INPUT:
            yield from _streamed(name, sys.stdin.buffer, size)
            continue
        with os.fdopen(open_regular(name), "rb") as file:
            is_compressed = file.read(2) == GZIP_MAGIC
        if is_compressed:
            with gzip.open(name, "rb") as stream:
                yield from _streamed(name, stream, size)  # type: ignore[arg-type]
        else:
            yield from _ranges(name, size)


def _ranges(name: str, size: int) -> Iterator[LogPiece]:
    """Iterate over ranges of a plain file that end with lines."""
    with os.fdopen(open_regular(name), "rb") as file:
        total = os.fstat(file.fileno()).st_size
        start = 0
        while start < total:
            end = min(start + size, total)
            if end < total:
                file.seek(end)
                while True:
                    block = file.read(MAX_LINE)
                    at = block.find(b"\n")
                    if at >= 0 or not block:
                        end += at + 1
                        break
                    end += len(block)
            yield LogPiece(name, start, min(end, total))
            start = end


def _streamed(name: str, stream: BinaryIO, size: int) -> Iterator[LogPiece]:
    """Iterate over the lines of a stream; of a line longer than a piece only its beginning is passed on."""
    rest = b""
    position = 0
    while block := stream.read(size):
        data = rest + block
        at = data.rfind(b"\n") + 1
        if not at and len(data) > size:
            rest = data[: MAX_LINE + 1]  # a huge line: its end is enough to count it
            continue
        rest = data[at:]
        if at:
            yield LogPiece(name, position, position + at, data[:at])
            position += at
    if rest:
        yield LogPiece(name, position, position + len(rest), rest)


DAMAGED: Final = (OSError, EOFError, zlib.error)
"""Errors of reading a log."""
