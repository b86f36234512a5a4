"""Regular expressions as httpd has them: PCRE, bytewise, `.` matches newlines, `$` only the very end (2.4;
2.2 as PCRE has them by default).

Python's `re` runs the many patterns on which it and PCRE agree (it starts and searches several times faster);
everything else goes to PCRE itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from whimbrel.base.lazy_re import compile
from whimbrel.base.static_typing import TYPE_CHECKING, Any, Final, Protocol, cast

if TYPE_CHECKING:
    from whimbrel.base.regex_cost import Scan


MAX_COPIED: Final = 8190  # length of a subject whose rest is copied behind each match
MAX_PATTERNS: Final = 16384  # compiled patterns; a configuration with thousands is read several times


class RegexError(Exception):
    """The pattern does not compile."""


class Match(Protocol):
    """A match; groups count from 0, a group that took no part is None."""

    def group(self, number: int = 0, /) -> Any: ...

    def groups(self) -> Any: ...

    def start(self, number: int = 0, /) -> int: ...

    def end(self, number: int = 0, /) -> int: ...


_NO_NAMES: Final[Mapping[str, int]] = {}


class Regex:
    """A compiled expression; `search` is ap_regexec.

    It runs under `re` for subjects of a length that is proven to end soon, and under PCRE for all others.

    Attributes:
        groups: number of groups.
        names: numbers of the named groups.
    """

    __slots__ = (
        "_length",
        "_pcre",
        "_quick",
        "_version22",
        "groups",
        "ignore_case",
        "names",
        "pattern",
        "search",
    )

    def __init__(self, pattern: str, *, ignore_case: bool, version22: bool) -> None:
        self.pattern = pattern
        self.ignore_case = ignore_case
        self._version22 = version22
        self._pcre = cast(Any, None)
        self.search: Callable[[str], Any]
        proven = _proven(pattern, ignore_case, version22) if _plain(pattern) else None
        if proven is None:
            compiled = self.pcre()
            self.search = compiled.search
        else:
            compiled, self._quick, self._length = proven
            self.search = self._quick if self._length >= _MAX_SUBJECT else self._search
        self.groups: int = compiled.groups
        self.names: Mapping[str, int] = dict(compiled.groupindex) or _NO_NAMES

    def _search(self, subject: str) -> Any:
        return self._quick(subject) if len(subject) <= self._length else self.pcre().search(subject)

    def pcre(self) -> Any:
        """Return the pattern under PCRE; raise RegexError."""
        if self._pcre is None:
            self._pcre = _under_pcre(self.pattern, self.ignore_case, self._version22)
        return self._pcre

    def find_all(self, subject: str) -> Iterator[tuple[int, Match]]:
        """Yield each match with the start of its search, which is where the match before it ends.

        Each search has a subject of its own, so that ``^`` matches at its start. The last match is the first
        one of nothing at the start of a subject, which would match there for ever.
        """
        if len(subject) > MAX_COPIED:
            yield from self.pcre().find_all(subject)
            return
        search = self.search
        start = 0
        while (match := search(subject)) is not None:
            yield start, match
            end = match.end()
            if not end:
                return
            subject, start = subject[end:], start + end

    def __repr__(self) -> str:
        return f"Regex({self.pattern!r}{', i' if self.ignore_case else ''})"


# Literals, classes without POSIX names, groups, greedy quantifiers, anchors and the common escapes mean the
# same in both.
_COMMON = compile(
    r"(?:[^\\\[\](){}*+?|$^]|\\[.\\/\-^$*+?()\[\]{}|=\"'&;,:!~%#@<> "
    r"_]|\\[dDwWsSb](?![^\x00-\x7f])|[|^$]|\((?:\?:)?|\)|"
    r"(?<![*+?(|}])[*+?](?:\?(?!\?))?(?![*+?])|(?<=[^*+?(|{}^])\{\d+(?:,\d*)?\}(?![+?*{])|"
    r"\[\^?[^\\\[\]^](?:[^\\\[\]]|\\[.\\/\-dwsDWS])*\])*"
)


def _plain(pattern: str) -> bool:
    return pattern.isascii() and _COMMON.fullmatch(pattern) is not None


# Unknown to the PCRE 5 of 2.2: (?<name>...), (?'name'...), (?|...).
_NOT_IN_22 = compile(r"""(?<!\\)\(\?(?:<(?![=!])|'|\|)""")

_DOLLARS = compile(r"\\Q.*?(?:\\E|\Z)|\\.|\[\^?\]?(?:\\.?|\[:\w+:\]|[^\]\\])*(?:\]|\Z)|\$", re.DOTALL)


def without_end(pattern: str) -> str:
    """*pattern* as it matches under PCRE_NOTEOL: no ``$`` ever does."""
    return _DOLLARS.sub(lambda match: "(?!)" if match[0] == "$" else match[0], pattern)


@lru_cache(maxsize=MAX_PATTERNS)
def compile_regex(pattern: str, *, ignore_case: bool = False, version22: bool = False) -> Regex:
    """Compile *pattern*; raise RegexError with PCRE's message.

    *version22*: as in 2.2, `.` matches no newline, and `$` also matches before a final newline.
    """
    if version22 and _NOT_IN_22.search(pattern):
        raise RegexError("unrecognized character after (?")
    return Regex(pattern, ignore_case=ignore_case, version22=version22)


# PCRE stops after ten million steps, and httpd then treats the pattern as not matching.  `re` never stops, so
# it runs only searches for which `search_cost` proves that they end within these steps (about a millisecond);
# all others run under PCRE.
_MAX_STEPS: Final = 100_000
_MIN_LENGTH: Final = 64  # a bound on shorter subjects only would send nearly all of them to PCRE anyway
_MAX_SUBJECT: Final = 8190  # the longest that a client can send where the limits are not raised


def _proven(
    pattern: str, ignore_case: bool, version22: bool
) -> tuple[re.Pattern[str], Callable[[str], Any], int] | None:
    """Return the pattern under `re`, its search and the proven length; None if nothing is proven."""
    from whimbrel.base.regex_cost import search_cost  # most configurations have no patterns

    text, flags = _python_form(pattern, ignore_case, version22)
    try:
        quick = re.compile(text, flags)
        bound = search_cost(text, flags)
    except (re.error, OverflowError):
        return None
    length = 0 if bound is None else bound[0].longest(_MAX_STEPS)
    if bound is None or length < _MIN_LENGTH:
        return None
    search = quick.match if bound[1] else quick.search  # `search` tries an anchored pattern at each character
    return quick, search, length


def _python_form(pattern: str, ignore_case: bool, version22: bool) -> tuple[str, re.RegexFlag]:
    flags = re.ASCII | (re.NOFLAG if version22 else re.DOTALL) | (re.IGNORECASE if ignore_case else re.NOFLAG)
    return pattern if version22 else _end_only(pattern), flags


def scannable(pattern: str, *, ignore_case: bool = False, version22: bool = False) -> Scan | None:
    """Return *pattern* for a search of many lines at once; None if it has anchors, may match nothing, or is
    beyond the subset on which `re` and PCRE agree.
    """
    if not _plain(pattern):
        return None
    from whimbrel.base.regex_cost import scan_of

    text, flags = _python_form(pattern, ignore_case, version22)
    try:
        return scan_of(text, flags)
    except (re.error, OverflowError):
        return None


_ESCAPE_CLASS_END = compile(
    r"(\\Q.*?(?:\\E|\Z)|\\.|\[\^?\]?(?:\\.?|\[:\^?\w+:\]|[^\]\\])*(?:\]|\Z))|\$", re.S
)


def _end_only(pattern: str, end: str = r"\Z") -> str:
    """Return the pattern with `$` for the very end only, outside classes and escapes."""
    return _ESCAPE_CLASS_END.sub(lambda m: m.group(1) or end, pattern)


def _under_pcre(pattern: str, ignore_case: bool, version22: bool) -> Any:
    from whimbrel.base.pcre import Pcre, PcreError  # costs 12 ms: only for patterns that need it

    text = (pattern if version22 else _end_only(pattern, r"\z")).encode("latin-1")
    try:
        return Pcre(text, _is_anchored(pattern), has_dotall=not version22, ignores_case=ignore_case)
    except PcreError as problem:
        raise RegexError(str(problem)) from None


def _is_anchored(pattern: str) -> bool:
    """Return True if *pattern* begins with ``^`` and has no alternative outside of groups.

    True is a hint about costs: a wrong one makes a search slower.
    """
    if not pattern.startswith("^"):
        return False
    depth = 0
    for character in _ESCAPE_CLASS_END.sub("", pattern):
        depth += (character == "(") - (character == ")")
        if character == "|" and not depth:
            return False
    return True
