"""Tables of redirects to test: lines of ``path status target``, or CSV with a header row.

A text line may give header fields in brackets: ``/x [Accept: text/html] 303 http://h/y``; the target is
optional. The path may be a whole URL, whose scheme, host and port then count. The columns of CSV are
``request_url``, ``request_header_NAME``, ``response_statuscode`` and ``response_url``, or ``path``,
``status`` and ``target``.
"""

from __future__ import annotations

import csv
import re
from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RewriteCase:
    """Expectation for one URL, or for one path: *target* "" and *status* 0 are not compared."""

    line: int
    url: str
    status: int
    target: str = ""
    headers: tuple[tuple[str, str], ...] = field(default=())


class BadTable(Exception):
    """Malformed table; the message names the line."""


_HEADER: Final = re.compile(r"\[([^\]:]++):\s*+([^\]]*+)\]")


def read_cases(text: str) -> list[RewriteCase]:
    """Parse a table of either kind; raises BadTable.

    Empty lines and lines that begin with ``#`` are skipped.
    """
    rows = [(n, line.strip()) for n, line in enumerate(text.splitlines(), 1)]
    rows = [(n, line) for n, line in rows if line and not line.startswith("#")]
    if rows and "," in rows[0][1] and not rows[0][1].startswith("/"):
        return _from_csv(rows)
    return [_from_line(n, line) for n, line in rows]


def _from_line(number: int, line: str) -> RewriteCase:
    headers = tuple((m[1].strip(), m[2].strip()) for m in _HEADER.finditer(line))
    words = _HEADER.sub(" ", line).split()
    if not 2 <= len(words) <= 3 or not words[1].isdigit():
        raise BadTable(f"line {number}: expected PATH STATUS [TARGET]")
    return RewriteCase(number, words[0], int(words[1]), words[2] if len(words) == 3 else "", headers)


def _from_csv(rows: list[tuple[int, str]]) -> list[RewriteCase]:
    names = [name.strip().lower() for name in next(csv.reader([rows[0][1]], skipinitialspace=True))]
    url = next((names.index(name) for name in ("request_url", "path", "url") if name in names), None)
    if url is None:
        raise BadTable(f"line {rows[0][0]}: no column is called request_url or path")
    return [
        _from_row(
            number,
            dict(zip(names, next(csv.reader([line], skipinitialspace=True)), strict=False)),
            names[url],
        )
        for number, line in rows[1:]
    ]


def _from_row(number: int, row: dict[str, str], url: str) -> RewriteCase:
    status = (row.get("response_statuscode") or row.get("status") or "").strip()
    if status and not status.isdigit():
        raise BadTable(f"line {number}: {status} is no status")
    prefix = "request_header_"
    headers = tuple(
        (name.removeprefix(prefix), value.strip())
        for name, value in row.items()
        if name.startswith(prefix) and value.strip()
    )
    return RewriteCase(
        number,
        row[url].strip(),
        int(status or 0),
        (row.get("response_url") or row.get("target") or "").strip(),
        headers,
    )
