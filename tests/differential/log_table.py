"""Differences between the logs of httpd and Whimbrel that docs/logs.md lists with their reasons."""

from __future__ import annotations

import re
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

DOCUMENT = Path(__file__).resolve().parents[2] / "docs/logs.md"
_TIME = re.compile(r"^\[[^\]]*\] ")
_PROCESS = re.compile(r"\[pid \d+:tid \d+\] ")
_CLIENT = re.compile(r"\[(client|remote) [\d.]+:\d+\] ")
_PARTS = re.compile(r"(?:\[(?P<where>\w*:\w+)\] )?(?:\S+\.c\(\d+\): )?(?P<rest>.*)", re.DOTALL)
_VARYING = (
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:N"),
    (re.compile(r"\b0x[0-9a-f]+\b|\b[0-9a-f]{12}\b|(?<=[#=])[0-9a-f]{8,16}"), "HEX"),
    (re.compile(r"(?:Apache|Whimbrel)/[\d.]+ \([^)]*\)"), "PRODUCT"),
    (re.compile(r"(?<=Command line: ')\S+(?: --builtin debian)?"), "PROGRAM"),
    (re.compile(r"(?<=Server built: ).*"), "TIME"),
    (re.compile(r"(?<=pid=)\d+"), "PID"),
    (re.compile(r"(?<=Allow: ).*"), "METHODS"),
    (re.compile(r"(?<=boundary=)\w+"), "BOUNDARY"),
)


class ListedLine(NamedTuple):
    """One row of the table of messages: patterns of ``module:level`` and text, and who writes the line."""

    where: str
    text: str
    program: str


class ListedFields(NamedTuple):
    """One row of the table of access lines: a pattern of connections, and items that differ."""

    connection: str
    items: frozenset[str]


def listed_lines() -> tuple[ListedLine, ...]:
    """Return the rows of the table of messages."""
    return tuple(ListedLine(where, text, program) for where, text, program, _reason in _rows("messages"))


def listed_fields() -> tuple[ListedFields, ...]:
    """Return the rows of the table of access lines; ``*`` stands for whole lines."""
    rows = _rows("access lines")
    return tuple(ListedFields(name, frozenset(items.split())) for name, items, _reason in rows)


def _rows(title: str) -> list[list[str]]:
    text = DOCUMENT.read_text(encoding="utf-8")
    section = text.partition(f"\n## Different {title}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip().strip("`") for cell in line.strip("|").split(" | ")] for line in lines]


def normal(line: str) -> str:
    """Return an error line without time, process and what else differs from run to run."""
    line = _CLIENT.sub(r"[\1] ", _PROCESS.sub("", _TIME.sub("", line, count=1)))
    for pattern, mask in _VARYING:
        line = pattern.sub(mask, line)
    return line


def unlisted(httpd: list[str], whimbrel: list[str], listed: tuple[ListedLine, ...]) -> list[str]:
    """Return the lines that only one program wrote and that no row lists, marked ``-`` (httpd) or ``+``."""
    first, second = Counter(map(normal, httpd)), Counter(map(normal, whimbrel))
    return [
        f"{mark} {line}"
        for mark, program, more in (("-", "httpd", first - second), ("+", "whimbrel", second - first))
        for line in more.elements()
        if not any(_is_listed(line, program, row) for row in listed)
    ]


def _is_listed(line: str, program: str, row: ListedLine) -> bool:
    match = _PARTS.match(line)
    if match is None or row.program not in (program, "both"):
        return False
    text = match["rest"].removeprefix("[client] ").removeprefix("[remote] ")
    return fnmatchcase(match["where"] or "", row.where) and fnmatchcase(text, row.text)
