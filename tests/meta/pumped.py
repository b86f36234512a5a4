"""Hostile subjects of a regular expression: each of its repetitions, and its beginning, many times over.

The subjects come from the syntax tree of the expression. They make a matcher that tries divisions of a
repeated text, or each place where a match may begin, take time that is at least quadratic in their length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from re import _parser  # type: ignore[attr-defined]
from typing import Any

ENDS = ("", "\0", "!", "\n", ">")
CANDIDATES = "a0 \t/<\"'=;,:.%-_\\x\n(){}[]&?#A~\0\xe9"


def pumped(pattern: str, flags: int, length: int) -> Iterator[str]:
    """Yield subjects of about *length* characters."""
    for start, pump in _pumps(pattern, flags):
        text = start + pump * (length // len(pump))
        yield from (text + end for end in ENDS)


@cache
def _pumps(pattern: str, flags: int) -> list[tuple[str, str]]:
    """Return beginnings of subjects, each with what is repeated behind it."""
    tree = _parser.parse(pattern, flags & ~re.UNICODE | re.ASCII)
    found: dict[tuple[str, str], None] = {}
    for start, unit in (("", _sample(tree)), *_repeated(tree, "")):
        for pump in (unit, start, unit[: len(unit) // 2], unit[:-1]):
            if pump:
                found[start, pump] = None
    return list(found)


def _sample(items: Any) -> str:
    """Return a short text that *items* match, apart from assertions and references."""
    return "".join(_piece(str(name), value) for name, value in items)


def _piece(name: str, value: Any) -> str:
    if name == "LITERAL":
        return chr(value)
    if name in ("IN", "NOT_LITERAL", "ANY"):
        return _member(name, value)
    if name == "SUBPATTERN":
        return _sample(value[3])
    if name == "ATOMIC_GROUP":
        return _sample(value)
    if name == "BRANCH":
        return max((_sample(branch) for branch in value[1]), key=len)
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        return _sample(value[2]) * max(1, min(value[0], 64))
    return ""


def _member(name: str, value: Any) -> str:
    """Return a character that one item matches."""
    if name == "ANY":
        return "a"
    if name == "NOT_LITERAL":
        return "b" if chr(value) == "a" else "a"
    negated = str(value[0][0]) == "NEGATE"
    for character in (*CANDIDATES, *map(chr, range(256))):
        if any(_holds(str(kind), member, character) for kind, member in value) is not negated:
            return character
    return ""


def _holds(kind: str, member: Any, character: str) -> bool:
    if kind == "LITERAL":
        return ord(character) == member
    if kind == "RANGE":
        return bool(member[0] <= ord(character) <= member[1])
    if kind != "CATEGORY":
        return False
    word = str(member).removeprefix("CATEGORY_")
    letter = {"DIGIT": "d", "SPACE": "s", "WORD": "w"}[word.removeprefix("NOT_")]
    return re.match(f"\\{letter.upper() if word.startswith('NOT_') else letter}", character, re.A) is not None


def _repeated(items: Any, before: str) -> Iterator[tuple[str, str]]:
    """Yield each unbounded repetition: a text that precedes it, and what it repeats."""
    for name, value in items:
        kind = str(name)
        if kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            if value[1] is _parser.MAXREPEAT or value[1] > 1000:
                yield before, _sample(value[2])
            yield from _repeated(value[2], before)
        elif kind == "SUBPATTERN":
            yield from _repeated(value[3], before)
        elif kind == "ATOMIC_GROUP":
            yield from _repeated(value, before)
        elif kind == "BRANCH":
            for branch in value[1]:
                yield from _repeated(branch, before)
        before += _piece(kind, value)
