"""Sets of bytes as integers: bit n stands for byte n."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

ANY: Final = (1 << 256) - 1
NEWLINE: Final = 1 << 10


def members(characters: Iterable[str]) -> int:
    """Return the set of *characters*."""
    result = 0
    for character in characters:
        result |= 1 << ord(character)
    return result


def span(first: int, last: int) -> int:
    """Return the set of the bytes from *first* to *last*."""
    return (1 << (last + 1)) - (1 << first)


_UPPER: Final = span(65, 90)
_LOWER: Final = span(97, 122)
ALPHA: Final = _UPPER | _LOWER
DIGIT: Final = span(48, 57)
WORD: Final = ALPHA | DIGIT | members("_")
SPACE: Final = members(" \t\n\v\f\r")
HORIZONTAL: Final = members(" \t\xa0")
VERTICAL: Final = members("\n\v\f\r\x85")
_VISIBLE: Final = span(33, 126)
POSIX: Final = {
    "alpha": ALPHA,
    "lower": _LOWER,
    "upper": _UPPER,
    "alnum": ALPHA | DIGIT,
    "ascii": span(0, 127),
    "blank": members(" \t"),
    "cntrl": span(0, 31) | 1 << 127,
    "digit": DIGIT,
    "graph": _VISIBLE,
    "print": _VISIBLE | members(" "),
    "punct": _VISIBLE & ~(ALPHA | DIGIT),
    "space": SPACE,
    "word": WORD,
    "xdigit": DIGIT | members("abcdefABCDEF"),
}
"""Classes of PCRE's tables for the C locale, which httpd uses."""


def folded(characters: int) -> int:
    """Return *characters* with the other case of each letter."""
    return characters | (characters & _UPPER) << 32 | (characters & _LOWER) >> 32


_ORDER: Final = [
    *map(ord, "xaeb0159-_./AZ"),
    *range(97, 123),
    *range(48, 58),
    *range(65, 91),
    *range(33, 127),
    32,
    9,
    *range(128, 256),
    *range(256),
]
_RANKS: Final = {byte: rank for rank, byte in reversed(list(enumerate(_ORDER)))}


def members_of(characters: int) -> list[int]:
    """Return the bytes of a set, the plainest first."""
    found = [byte for byte in range(256) if characters >> byte & 1]
    return sorted(found, key=_RANKS.__getitem__)


def partition(sets: Iterable[int], universe: int = ANY) -> list[int]:
    """Return the coarsest partition of *universe* whose parts are inside or outside of each of *sets*."""
    parts = [universe] if universe else []
    for one in set(sets):
        parts = [piece for part in parts for piece in (part & one, part & ~one) if piece]
    return sorted(parts, key=lambda part: _RANKS[members_of(part)[0]])
