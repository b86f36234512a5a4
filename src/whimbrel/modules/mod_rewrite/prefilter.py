"""Which of many rules can match a text at all: most patterns of long lists begin with a literal text that the URL must begin with too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

FEW: Final = 8
_ENDS: Final = frozenset("*?{")
_SPECIAL: Final = frozenset(".^$|()[]{}*+?\\")


def literal_prefix(pattern: str) -> str:
    """What every text that *pattern* matches begins with, "" where that can't be told; it holds without regard to case."""
    if not pattern.startswith("^") or "|" in pattern and _alternatives(pattern):
        return ""
    out: list[str] = []
    at, size = 1, len(pattern)
    while at < size:
        char = pattern[at]
        step = 1
        if char == "\\" and at + 1 < size and not pattern[at + 1].isalnum():
            char, step = pattern[at + 1], 2
        elif char in _SPECIAL:
            break
        if pattern[at + step:at + step + 1] in _ENDS and at + step < size:
            break
        if not char.isascii():
            break
        out.append(char)
        at += step
    return "".join(out).lower()


def _alternatives(pattern: str) -> bool:
    """Whether a ``|`` stands outside all groups."""
    depth, at, in_class = 0, 0, False
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            at += 1
        elif in_class:
            in_class = char != "]"
        elif char == "[":
            in_class, at = True, at + (1 if pattern[at + 1:at + 2] == "]" else 2 if pattern[at + 1:at + 3] == "^]" else 0)
        elif char in "()":
            depth += 1 if char == "(" else -1
        elif char == "|" and depth == 0:
            return True
        at += 1
    return False


class Prefilter:
    """The rules that may match a text, by their positions; *prefixes* holds "" for those that must always be asked."""

    __slots__ = ("_all", "_always", "_by_size")

    def __init__(self, prefixes: Sequence[str]) -> None:
        self._all: Sequence[int] | None = range(len(prefixes)) if len(prefixes) <= FEW else None
        self._always = [i for i, prefix in enumerate(prefixes) if not prefix]
        by_size: dict[int, dict[str, list[int]]] = {}
        for i, prefix in enumerate(prefixes):
            if prefix:
                by_size.setdefault(len(prefix), {}).setdefault(prefix, []).append(i)
        self._by_size = sorted(by_size.items())

    def candidates(self, text: str) -> Sequence[int]:
        """Positions in their order."""
        if self._all is not None:
            return self._all
        low, size, found = text.lower(), len(text), []
        for length, table in self._by_size:
            if length > size:
                break
            hits = table.get(low[:length])
            if hits is not None:
                found += hits
        return sorted(self._always + found) if found else self._always
