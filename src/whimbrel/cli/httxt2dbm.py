"""whimbrel httxt2dbm: convert a text map to a DBM file for the dbm type of RewriteMap.

Manual: programs/httxt2dbm.html. A line is a key and a value, of which the first word counts. Lines that start
with white space or `#`, and lines without value, are skipped. A line is read in pieces of 1024 bytes. Other
entries of an existing file remain.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from typing import Final

from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.utilities import usage
from whimbrel.utilities.options import Exit, UtilityProgram, parse, start, write_stderr
from whimbrel.utilities.usage_error import UsageError

_MAX_LINE_BYTES: Final = 1024
_PAIR: Final = re.compile(r"([^ \t\n\v\f\r#][^ \t\n\v\f\r]*)[ \t\n\v\f\r]+([^ \t\n\v\f\r]+)")


def main() -> None:
    """Entry point of whimbrel-httxt2dbm."""
    start(run, "httxt2dbm")


def run(program: UtilityProgram) -> int:
    """Convert; return the exit status. Raises Exit."""
    seen: set[str] = set()

    def check(letter: str, _value: str) -> None:
        if letter in seen:
            raise Exit(1, f"Error: -{letter} can only be passed once\n\n{usage.HTTXT2DBM}")
        seen.add(letter)

    try:
        options = dict(parse(program.words, "vf:i:o:", check)[0])
    except UsageError as problem:
        raise Exit(
            1, f"{program.name}: {problem.message}\nError: Parsing Arguments Failed\n\n{usage.HTTXT2DBM}"
        ) from None
    for letter, what in (("i", "input file"), ("o", "output DBM")):
        if letter not in options:
            raise Exit(1, ("" if not program.words else f"Error: No {what} specified.\n\n") + usage.HTTXT2DBM)
    _convert(options["i"], options["o"], options.get("f", "default"), "v" in options)
    return 0


def _convert(source: str, target: str, kind: str, verbose: bool) -> None:
    from whimbrel.utilities.dbm_edit import DbmDatabase, DbmError

    log = write_stderr if verbose else _ignore
    log(f"DBM Format: {kind}\n")
    data = _read(source)
    log(f"Input File: {source}\n")
    try:
        database = DbmDatabase(target, kind, create=True)
    except DbmError as problem:
        raise Exit(
            1,
            f"{problem.library_message}Error: Cannot open output DBM '{target}': "
            f"({problem.code}) {problem.reason}\n\n",
        ) from None
    log(f"DBM File: {target}\n")
    try:
        try:
            for key, value in _pairs(data):
                log(f"    '{key}' -> '{value}'\n")
                database.put(to_bytes(key), to_bytes(value))
        finally:
            database.save()  # pairs before one that does not fit remain
    except DbmError as problem:
        raise Exit(1, f"Error: Converting to DBM: ({problem.code}) {problem.reason}\n\n") from None
    log("Conversion Complete.\n")


def _ignore(line: str) -> None:
    """Print nothing: the message function without -v."""


def _read(path: str) -> bytes:
    if path == "-":
        return sys.stdin.buffer.read()
    try:
        with open(to_bytes(path), "rb") as file:
            return file.read()
    except IsADirectoryError:
        return b""
    except OSError as problem:
        raise Exit(
            1,
            f"Error: Cannot open input file '{path}': "
            f"({problem.errno}) {os.strerror(problem.errno or 0)}\n\n",
        ) from None


def _pairs(data: bytes) -> Iterator[tuple[str, str]]:
    for line in to_text(data).split("\n"):
        for at in range(0, len(line), _MAX_LINE_BYTES):
            match = _PAIR.match(line[at : at + _MAX_LINE_BYTES].partition("\0")[0])
            if match is not None:
                yield match.group(1), match.group(2)
