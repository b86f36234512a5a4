"""whimbrel httxt2dbm: a DBM file of a text map, for RewriteMap's dbm type.

Manual: programs/httxt2dbm.html.  A line is a key and a value, of which the first word counts; lines that start with white space or `#`, and those
without value, are passed over.  A line is read in pieces of 1024 bytes.  What an existing file holds besides stays.
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
    """The console script."""
    start(run, "httxt2dbm")


def run(program: UtilityProgram) -> int:
    """Convert; the exit status.  Raises Exit."""
    try:
        options = dict(parse(program.words, "vf:i:o:")[0])
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
            f"{problem.library_message}Error: Cannot open output DBM '{target}': ({problem.code}) {problem.reason}\n\n",
        ) from None
    log(f"DBM File: {target}\n")
    try:
        try:
            for key, value in _pairs(data):
                log(f"    '{key}' -> '{value}'\n")
                database.put(to_bytes(key), to_bytes(value))
        finally:
            database.save()  # what came before a pair that doesn't fit stays
    except DbmError as problem:
        raise Exit(1, f"Error: Converting to DBM: ({problem.code}) {problem.reason}\n\n") from None
    log("Conversion Complete.\n")


def _ignore(line: str) -> None:
    """Without -v nothing is said."""


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
            f"Error: Cannot open input file '{path}': ({problem.errno}) {os.strerror(problem.errno or 0)}\n\n",
        ) from None


def _pairs(data: bytes) -> Iterator[tuple[str, str]]:
    for line in to_text(data).split("\n"):
        for at in range(0, len(line), _MAX_LINE_BYTES):
            match = _PAIR.match(line[at : at + _MAX_LINE_BYTES].partition("\0")[0])
            if match is not None:
                yield match.group(1), match.group(2)
