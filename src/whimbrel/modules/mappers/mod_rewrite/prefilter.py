"""Preselection of rules that can match a text.

Most patterns of long lists begin with a literal text, with which the URL must begin too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from whimbrel.base.numbers import is_alphanumeric

PREFILTER_THRESHOLD: Final = 8
_ENDS: Final = frozenset("*?{")
_SPECIAL: Final = frozenset(".^$|()[]{}*+?\\")


def literal_prefix(pattern: str) -> str:
    """Return a case-insensitive prefix of every text that *pattern* matches, "" if it is unknown."""
    if not pattern.startswith("^") or "|" in pattern and _alternatives(pattern):
        return ""
    out: list[str] = []
    at = 1
    size = len(pattern)
    while at < size:
        char = pattern[at]
        step = 1
        if char == "\\" and at + 1 < size and not is_alphanumeric(pattern[at + 1]):
            char = pattern[at + 1]
            step = 2
        elif char in _SPECIAL:
            break
        if pattern[at + step : at + step + 1] in _ENDS and at + step < size:
            break
        if not char.isascii():
            break
        out.append(char)
        at += step
    return "".join(out).lower()


def _alternatives(pattern: str) -> bool:
    """Return True if a ``|`` occurs outside all groups."""
    depth = 0
    at = 0
    in_class = False
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            at += 1
        elif in_class:
            in_class = char != "]"
        elif char == "[":
            in_class = True
            if pattern[at + 1 : at + 2] == "]":
                at += 1
            elif pattern[at + 1 : at + 3] == "^]":
                at += 2
        elif char in "()":
            depth += 1 if char == "(" else -1
        elif char == "|" and depth == 0:
            return True
        at += 1
    return False


_SETTINGS = re.compile(r"\(\?[imsxnJUX^-]|\\[QE]|\(\*")
_TOKEN = re.compile(
    r"\\(?P<escaped>[^0-9A-Za-z])|\\[dDwWsSbBAzZhHvVR]|(?P<open>\()|(?P<close>\))|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]|"
    r"(?P<counted>[*?]|\{\d+(?:,\d*)?\})[+?]?|(?P<more>\+)[+?]?|(?P<special>[.^$|])|(?P<plain>[^\\\[\](){}*+?.^$|])",
    re.S | re.ASCII,
)


def literal_inside(pattern: str) -> str:
    """Return the longest literal in every match of *pattern*, ignoring case, "" if it is unknown."""
    if _SETTINGS.search(pattern) or ("|" in pattern and _alternatives(pattern)):
        return ""
    runs = [""]
    run = ""
    depth = 0
    at = 0
    while at < len(pattern):
        match = _TOKEN.match(pattern, at)
        if match is None:
            return ""
        at = match.end()
        char = match["plain"] or match["escaped"]
        if char and not depth:
            run += char
            continue
        runs.append(run[:-1] if match["counted"] and not depth else run)
        run = ""
        depth += bool(match["open"]) - bool(match["close"])
    best = max([*runs, run], key=len)
    return best.lower() if best.isascii() else ""


class Prefilter:
    """The rules that may match a text, by their positions.

    *prefixes* are required prefixes, *insides* required substrings, "" for rules that must always be tried.
    """

    __slots__ = ("_all", "_always", "_by_size", "_needles")

    def __init__(self, prefixes: Sequence[str], insides: Sequence[str]) -> None:
        self._all: Sequence[int] | None = (
            range(len(prefixes)) if len(prefixes) <= PREFILTER_THRESHOLD else None
        )
        both = list(zip(prefixes, insides, strict=True))
        self._always = [i for i, (prefix, inside) in enumerate(both) if not prefix and not inside]
        self._needles = [(i, inside) for i, (prefix, inside) in enumerate(both) if inside and not prefix]
        by_size: dict[int, dict[str, list[int]]] = {}
        for i, prefix in enumerate(prefixes):
            if prefix:
                by_size.setdefault(len(prefix), {}).setdefault(prefix, []).append(i)
        self._by_size = sorted(by_size.items())

    def candidates(self, text: str) -> Sequence[int]:
        """Return positions in order."""
        if self._all is not None:
            return self._all
        low = text.lower()
        size = len(text)
        positions = [i for i, needle in self._needles if needle in low]
        for length, table in self._by_size:
            if length > size:
                break
            hits = table.get(low[:length])
            if hits is not None:
                positions += hits
        return sorted(self._always + positions) if positions else self._always
