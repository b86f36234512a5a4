"""Regular expressions as httpd has them: PCRE, bytewise, `.` matches newlines, `$` only the very end (2.4; 2.2 as PCRE has them by default).

Python's `re` runs the many patterns on which it and PCRE agree (it starts and searches several times faster); everything else goes to PCRE itself.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Protocol


class RegexError(Exception):
    """The pattern does not compile."""


class Found(Protocol):
    """A match; groups count from 0, a group that took no part is None."""

    def group(self, number: int = 0, /) -> Any: ...

    def groups(self) -> Any: ...

    def start(self, number: int = 0, /) -> int: ...

    def end(self, number: int = 0, /) -> int: ...


class Regex:
    """A compiled expression; `search` is ap_regexec."""

    __slots__ = ("groups", "ignore_case", "names", "pattern", "search")

    def __init__(self, pattern: str, ignore_case: bool, compiled: Any) -> None:
        self.pattern, self.ignore_case = pattern, ignore_case
        self.search: Any = compiled.search
        self.groups: int = compiled.groups
        self.names: dict[str, int] = dict(compiled.groupindex)

    def __repr__(self) -> str:
        return f"Regex({self.pattern!r}{', i' if self.ignore_case else ''})"


# Literals, classes without POSIX names, groups, plain quantifiers, anchors and the common escapes mean the same in both.
_COMMON = re.compile(
    r"(?:[^\\\[\](){}*+?|$^]|\\[.\\/\-^$*+?()\[\]{}|=\"'&;,:!~%#@<> _]|\\[dDwWsSb](?![^\x00-\x7f])|[|^$]|\((?:\?:)?|\)|"
    r"(?<![*+?(|}])[*+?](?:\?(?!\?))?(?![*+?])|(?<=[^*+?(|{}^])\{\d+(?:,\d*)?\}(?![+?*{])|"
    r"\[\^?[^\\\[\]^](?:[^\\\[\]]|\\[.\\/\-dwsDWS])*\])*"
)


def _plain(pattern: str) -> bool:
    return pattern.isascii() and _COMMON.fullmatch(pattern) is not None


# What the PCRE 5 of 2.2 does not know: (?<name>...), (?'name'...), (?|...).
_NOT_IN_22 = re.compile(r"""(?<!\\)\(\?(?:<(?![=!])|'|\|)""")


@lru_cache(maxsize=4096)
def compile_regex(pattern: str, *, ignore_case: bool = False, version22: bool = False) -> Regex:
    """Compile *pattern*; RegexError says what PCRE found wrong.

    *version22*: as 2.2 has them, `.` matches no newline, `$` also matches before a newline at the end.
    """
    if version22 and _NOT_IN_22.search(pattern):
        raise RegexError("unrecognized character after (?")
    if _plain(pattern):
        try:
            flags = re.ASCII | (0 if version22 else re.DOTALL) | (re.IGNORECASE if ignore_case else 0)
            return Regex(pattern, ignore_case, re.compile(pattern if version22 else _end_only(pattern), flags))
        except (re.error, OverflowError):
            pass
    return Regex(pattern, ignore_case, _pcre(pattern, ignore_case, version22))


_ESCAPE_CLASS_END = re.compile(r"(\\Q.*?(?:\\E|\Z)|\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\])|\$", re.S)


def _end_only(pattern: str, end: str = r"\Z") -> str:
    """The pattern with `$` for the very end only, outside classes and escapes."""
    return _ESCAPE_CLASS_END.sub(lambda m: m.group(1) or end, pattern)


class _Bytewise:
    """A PCRE pattern over the bytes of one-character-per-byte text."""

    __slots__ = ("_search", "groupindex", "groups")

    def __init__(self, compiled: Any) -> None:
        self._search, self.groups = compiled.search, compiled.groups
        self.groupindex = {str(name, "latin-1") if isinstance(name, bytes) else name: n for name, n in compiled.groupindex.items()}

    def search(self, subject: str) -> Found | None:
        found = self._search(subject.encode("latin-1"))
        return None if found is None else _BytesFound(found)


class _BytesFound:
    """A match over bytes that gives its groups as text."""

    __slots__ = ("_match", "end", "start")

    def __init__(self, match: Any) -> None:
        self._match = match
        self.start, self.end = match.start, match.end

    def group(self, number: int = 0, /) -> Any:
        value = self._match.group(number)
        return value if value is None else value.decode("latin-1")

    def groups(self) -> Any:
        return tuple(None if g is None else g.decode("latin-1") for g in self._match.groups())


def _pcre(pattern: str, ignore_case: bool, version22: bool) -> Any:
    import pcre2  # costs 12 ms: only for patterns that need it

    try:
        flags = (0 if version22 else pcre2.DOTALL) | (pcre2.IGNORECASE if ignore_case else 0)
        text = pattern if version22 else _end_only(pattern, r"\z")
        return _Bytewise(pcre2.compile(text.encode("latin-1"), flags))
    except (pcre2.PatternError, pcre2.LibraryError) as problem:
        raise RegexError(str(problem)) from None
