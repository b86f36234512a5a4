"""Regular expressions as httpd has them: PCRE, bytewise, `.` matches newlines, `$` only the very end (2.4; 2.2 as PCRE has them by default).

Python's `re` runs the many patterns on which it and PCRE agree (it starts and searches several times faster); everything else goes to PCRE itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, Final, Protocol

from whimbrel.lazily import pattern


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
_COMMON = pattern(
    r"(?:[^\\\[\](){}*+?|$^]|\\[.\\/\-^$*+?()\[\]{}|=\"'&;,:!~%#@<> _]|\\[dDwWsSb](?![^\x00-\x7f])|[|^$]|\((?:\?:)?|\)|"
    r"(?<![*+?(|}])[*+?](?:\?(?!\?))?(?![*+?])|(?<=[^*+?(|{}^])\{\d+(?:,\d*)?\}(?![+?*{])|"
    r"\[\^?[^\\\[\]^](?:[^\\\[\]]|\\[.\\/\-dwsDWS])*\])*"
)


def _plain(pattern: str) -> bool:
    return pattern.isascii() and _COMMON.fullmatch(pattern) is not None


# What the PCRE 5 of 2.2 does not know: (?<name>...), (?'name'...), (?|...).
_NOT_IN_22 = pattern(r"""(?<!\\)\(\?(?:<(?![=!])|'|\|)""")

_DOLLARS = pattern(r"\\Q.*?(?:\\E|\Z)|\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|\$", re.DOTALL)


def without_end(pattern: str) -> str:
    """*pattern* as it matches under PCRE_NOTEOL: no ``$`` ever does."""
    return _DOLLARS.sub(lambda found: "(?!)" if found[0] == "$" else found[0], pattern)


@lru_cache(maxsize=4096)
def compile_regex(pattern: str, *, ignore_case: bool = False, version22: bool = False) -> Regex:
    """Compile *pattern*; RegexError says what PCRE found wrong.

    *version22*: as 2.2 has them, `.` matches no newline, `$` also matches before a newline at the end.
    """
    if version22 and _NOT_IN_22.search(pattern):
        raise RegexError("unrecognized character after (?")
    loops = _loops(pattern)
    if loops < _EXPLODES and _plain(pattern):
        try:
            flags = re.ASCII | (0 if version22 else re.DOTALL) | (re.IGNORECASE if ignore_case else 0)
            quick = re.compile(pattern if version22 else _end_only(pattern), flags)
            return Regex(pattern, ignore_case, quick if loops < 2 else _Bounded(quick, _SHORT[loops], pattern, ignore_case, version22))
        except (re.error, OverflowError):
            pass
    return Regex(pattern, ignore_case, _pcre(pattern, ignore_case, version22))


# How long a search may take: PCRE gives up after a number of steps, and the pattern then counts as not matching, under httpd as here.  `re` never
# gives up, so it only gets what ends soon: no repeated group with a choice in it, and several loops only on short texts.
_EXPLODES: Final = 4
_SHORT: Final = {2: 1024, 3: 96}
_LOOP = pattern(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|(?P<loop>[*+]|\{\d+,\d*\})|(?P<open>\()|(?P<close>\)(?P<again>[*+{]?))|(?P<choice>[|?])|.", re.S)


def _loops(pattern: str) -> int:
    """The number of unbounded repetitions in *pattern*; `_EXPLODES` where a repeated group repeats or chooses inside."""
    count, inside = 0, [False]
    for token in _LOOP.finditer(pattern):
        if token["loop"]:
            count += 1
            inside[-1] = True
        elif token["choice"] and pattern[token.start() - 1:token.start()] != "(":
            inside[-1] = True
        elif token["open"]:
            inside.append(False)
        elif token["close"] and len(inside) > 1:
            free = inside.pop()
            if free and token["again"]:
                return _EXPLODES
            inside[-1] = inside[-1] or free
            count += bool(token["again"])
    return count


class _Bounded:
    """A pattern of several loops: `re` for short texts, PCRE, which knows an end, for long ones."""

    __slots__ = ("_make", "_quick", "_short", "_sure", "groupindex", "groups")

    def __init__(self, quick: re.Pattern[str], short: int, pattern: str, ignore_case: bool, version22: bool) -> None:
        self._quick: Callable[[str], Any] = quick.search
        self.groups, self.groupindex, self._short = quick.groups, quick.groupindex, short
        self._make: Callable[[], Any] = partial(_pcre, pattern, ignore_case, version22)
        self._sure: Any = None

    def search(self, subject: str) -> Any:
        """The match, None without one."""
        if len(subject) <= self._short:
            return self._quick(subject)
        if self._sure is None:
            self._sure = self._make()
        return self._sure.search(subject)


_ESCAPE_CLASS_END = pattern(r"(\\Q.*?(?:\\E|\Z)|\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\])|\$", re.S)


def _end_only(pattern: str, end: str = r"\Z") -> str:
    """The pattern with `$` for the very end only, outside classes and escapes."""
    return _ESCAPE_CLASS_END.sub(lambda m: m.group(1) or end, pattern)


class _Bytewise:
    """A PCRE pattern over the bytes of one-character-per-byte text."""

    __slots__ = ("_gives_up", "_search", "groupindex", "groups")

    def __init__(self, compiled: Any, gives_up: type[Exception]) -> None:
        self._search, self.groups, self._gives_up = compiled.search, compiled.groups, gives_up
        self.groupindex = {str(name, "latin-1") if isinstance(name, bytes) else name: n for name, n in compiled.groupindex.items()}

    def search(self, subject: str) -> Found | None:
        try:
            found = self._search(subject.encode("latin-1"))
        except self._gives_up:
            return None
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
        return _Bytewise(pcre2.compile(text.encode("latin-1"), flags), pcre2.LibraryError)
    except (pcre2.PatternError, pcre2.LibraryError) as problem:
        raise RegexError(str(problem)) from None
