"""Substitution line by line, as httpd defines it: the reference for `pages`.

A line is a list of buckets, at first one. A pattern that matches splits its bucket (flag q, or the only
pattern) or replaces it by one. Each bucket is a subject of its own for the patterns that follow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.modules.filters.mod_substitute.patterns import OverlongLine, Pattern

# buckets after which httpd passes lines on, before it has seen the rest of the data
MAX_BUCKETS: Final = 1000


@dataclass(frozen=True, slots=True)
class Rules:
    """Patterns in their order.

    Attributes:
        limit: SubstituteMaxLineLength.
        ends_at_nul: texts end at a NUL byte, as in 2.2.
    """

    patterns: tuple[Pattern, ...]
    limit: int
    ends_at_nul: bool = False


class Cut(Exception):
    """A line was too long; *passed* is the output that httpd had passed on before."""

    def __init__(self, passed: str) -> None:
        super().__init__(passed)
        self.passed = passed


def _go_on() -> None:
    """Make no pause."""


def substitute_lines(rules: Rules, text: str, pause: Callable[[], None] = _go_on) -> str:
    """Return *text*'s lines after substitution; raise Cut. *pause*: after each line and match."""
    out: list[str] = []
    passed = 0
    count = 0
    lines = text.split("\n")
    for number, line in enumerate(lines):
        last = number == len(lines) - 1
        if last and not line:
            break
        try:
            buckets = substitute_line(rules, line if last else line + "\n", pause)
        except OverlongLine:
            raise Cut("".join(out[:passed])) from None
        out.append("".join(buckets))
        pause()
        count += len(buckets)
        if count > MAX_BUCKETS:
            passed = len(out)
            count = 0
    return "".join(out)


def substitute_line(rules: Rules, line: str, pause: Callable[[], None] = _go_on) -> list[str]:
    """Return the buckets of *line* after substitution; raise OverlongLine."""
    buckets = [line]
    flatten = len(rules.patterns) > 1
    for pattern in rules.patterns:
        edited: list[str] = []
        for bucket in buckets:
            edit = _flattened if flatten and pattern.flatten else _split
            edited += edit(pattern, bucket, rules, pause)
        buckets = edited
    return buckets


def _flattened(pattern: Pattern, bucket: str, rules: Rules, pause: Callable[[], None]) -> list[str]:
    """Return *bucket* after *pattern*, as one bucket."""
    out: list[str] = []
    at = 0
    left = rules.limit
    subject = _until_nul(bucket) if rules.ends_at_nul and pattern.is_expression else bucket
    for start, end, text in pattern.find(subject):
        left = _left(pattern, left, start - at, text)
        out += (subject[at:start], text)
        at = end
        pause()
    if not out:
        return [bucket]
    out.append(subject[at:])
    return ["".join(map(_until_nul, out)) if rules.ends_at_nul else "".join(out)]


def _split(pattern: Pattern, bucket: str, rules: Rules, pause: Callable[[], None]) -> list[str]:
    """Return *bucket* after *pattern*, split at the matches."""
    out: list[str] = []
    at = 0
    left = rules.limit
    subject = _until_nul(bucket) if rules.ends_at_nul and pattern.is_expression else bucket
    for start, end, text in pattern.find(subject):
        left = _left(pattern, left, start - at, text)
        out += (bucket[at:start], _until_nul(text) if pattern.is_expression else text)
        at = end
        pause()
    out.append(bucket[at:])
    if len(out) > 1 and not pattern.is_expression and left < len(out[-1]):
        raise OverlongLine
    return out


def _left(pattern: Pattern, left: int, before: int, text: str) -> int:
    """Return the space that remains of *left* after *before* bytes and the replacement *text*."""
    if pattern.is_expression:
        if left <= before or len(text) >= left - before:
            raise OverlongLine
    elif left < before + len(text):
        raise OverlongLine
    return left - before - len(text)


def _until_nul(text: str) -> str:
    return text.partition("\0")[0]
