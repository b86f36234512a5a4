"""PCRE patterns over the bytes of one-character-per-byte text, with httpd's limits.

Compiled code searches first, under a limit of steps that keeps it short. Where the limit does not suffice,
PCRE's interpreter, which is what httpd runs, searches again under httpd's limit. It runs beside the event
loop where the calling code may wait.
"""

from __future__ import annotations

import re
from functools import partial

import pcre2

from whimbrel.base.numbers import strtol
from whimbrel.base.pcre_library import GaveUp, InterpretedPattern, load_library
from whimbrel.base.short_searches import check_long_search
from whimbrel.base.static_typing import TYPE_CHECKING, Any, Final
from whimbrel.base.sync_waits import search_beside_loop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whimbrel.base.regex import Match


class PcreError(Exception):
    """The pattern does not compile; the text is PCRE's."""


# `\\Q...\\E`, `\\x{hh...}`, `\\xhh` with up to two digits, and every other escape.
_ESCAPES: Final = re.compile(
    rb"\\Q.*?(?:\\E|\Z)|\\x\{([0-9A-Fa-f]++)\}|\\x(?!\{)([0-9A-Fa-f]{0,2}+)|\\(.)", re.DOTALL
)


def pcre_escapes(text: bytes) -> bytes:
    r"""Return *text* with escapes that mean the same with and without PCRE2_ALT_BSUX.

    The package compiles with this option, httpd does not: `\x{41}` is the letter A, and `\u` does not compile
    (pcre2pattern(3), "Non-printing characters"). Raises PcreError.
    """
    return _ESCAPES.sub(_pcre_escape, text) if b"\\" in text else text


def _pcre_escape(found: re.Match[bytes]) -> bytes:
    escape = found[0]
    if escape.startswith(b"\\x{") or found[2] is not None:
        value = strtol((found[1] or found[2] or b"0").decode("ascii"), 16)[0]
        if value > 255:
            raise PcreError("character code point value in \\x{} or \\o{} is too large")
        return b"\\x%02x" % value
    if escape == b"\\x":
        raise PcreError("digits missing in \\x{} or \\o{} or \\N{U+}")
    if found[3] in (b"u", b"U"):
        raise PcreError("PCRE2 does not support \\F, \\L, \\l, \\N{name}, \\U, or \\u")
    return escape


# Compiled code takes some 3 ns for a step, and the limit holds for each place where a match may begin. Rows:
# length of the subject up to which the limit keeps a search below some 2 ms, and the limit.
_TIERS: Final = ((30, 20_000), (512, 1_000), (8_190, 60))
_ANCHORED_TIERS: Final = ((8_190, 20_000),)
_HEAP_LIMIT: Final = b"(*LIMIT_HEAP=65536)"  # kB that the interpreter may take for one search


class Pcre:
    """A compiled pattern.

    Attributes:
        groups: number of groups.
        groupindex: numbers of the named groups.
    """

    __slots__ = ("_compiled", "_flags", "_interpreter", "_shared", "_text", "_tiers", "groupindex", "groups")

    def __init__(self, text: bytes, is_anchored: bool, *, has_dotall: bool, ignores_case: bool) -> None:
        self._text = pcre_escapes(text)
        self._flags = (pcre2.DOTALL if has_dotall else 0) | (pcre2.IGNORECASE if ignores_case else 0)
        self._tiers = _ANCHORED_TIERS if is_anchored else _TIERS
        self._compiled: dict[int, Callable[[bytes], Any]] = {}
        self._interpreter: Callable[[bytes], Any] | None = None
        self._shared: InterpretedPattern | None = None
        first = self._compile(self._tiers[0][1])
        self._compiled[self._tiers[0][1]] = first.search
        self.groups: int = first.groups
        self.groupindex: dict[str, int] = {
            str(name, "latin-1") if isinstance(name, bytes) else name: number
            for name, number in first.groupindex.items()
        }

    def _compile(self, limit: int) -> Any:
        try:
            compiled = pcre2.compile(b"(*LIMIT_MATCH=%d)" % limit + self._text, self._flags, jit=False)
        except (pcre2.PatternError, pcre2.LibraryError) as problem:
            raise PcreError(str(problem)) from None
        try:
            compiled.jit_compile()
        except pcre2.LibraryError:
            pass  # for example (*NO_JIT)
        return compiled

    def search(self, subject: str) -> Match | None:
        """Return the first match, None if there is none or PCRE gives up."""
        data = subject.encode("latin-1")
        for length, limit in self._tiers:
            if len(data) <= length:
                search = self._compiled.get(limit)
                if search is None:
                    search = self._compile(limit).search
                    self._compiled[limit] = search
                try:
                    match = search(data)
                except pcre2.LibraryError as problem:
                    if not _is_undecided(problem):
                        return None
                    break
                return None if match is None else BytesMatch(match)
        return self._search_long(data)

    def _search_long(self, data: bytes) -> Match | None:
        library = self._interpreter_of_library()
        if library is not None and library.cannot_match(data):
            return None
        check_long_search()
        interpreter = self._interpreter
        if interpreter is None:
            interpreter = self._interpret()
            self._interpreter = interpreter
        try:
            match = search_beside_loop(partial(interpreter, data))
        except (GaveUp, pcre2.LibraryError):
            return None
        return None if match is None else BytesMatch(match)

    def find_all(self, subject: str) -> Iterator[tuple[int, Match]]:
        """See `Regex.find_all`; the subject is not copied. A search that PCRE gives up finds nothing."""
        data = subject.encode("latin-1")
        start = 0
        pattern = self._interpreter_of_library()
        while True:
            if pattern is not None:
                if pattern.cannot_match(data, start):
                    return
                found = search_beside_loop(partial(pattern.find_some, data, start))
                batch: list[tuple[int, Match]] = [(at, BytesMatch(span)) for at, span in found]
            else:
                match = self._search_long(data[start:])
                batch = [] if match is None else [(start, match)]
            yield from batch
            if not batch or not batch[-1][1].end():
                return
            start = batch[-1][0] + batch[-1][1].end()

    def _interpret(self) -> Callable[[bytes], Any]:
        """Return the search of the shared library, which releases the GIL, or of the interpreter."""
        pattern = self._interpreter_of_library()
        if pattern is not None:
            return pattern.search
        text = _HEAP_LIMIT + self._text
        search: Callable[[bytes], Any] = pcre2.compile(text, self._flags, jit=False).search
        return search

    def _interpreter_of_library(self) -> InterpretedPattern | None:
        if self._shared is None:
            library = load_library()
            if library is None:
                return None
            try:
                self._shared = library.compile(_HEAP_LIMIT + self._text, int(self._flags))
            except GaveUp:
                return None
        return self._shared


def _is_undecided(problem: Exception) -> bool:
    """Return True if compiled code has given up a search that the interpreter may finish."""
    return any(word in str(problem) for word in ("stack", "limit"))


class BytesMatch:
    """A match over bytes that gives its groups as text."""

    __slots__ = ("_match", "end", "start")

    def __init__(self, match: Any) -> None:
        self._match = match
        self.start = match.start
        self.end = match.end

    def group(self, number: int = 0, /) -> Any:
        """Return the text of a group; None if it took no part."""
        value = self._match.group(number)
        return value if value is None else value.decode("latin-1")

    def groups(self) -> Any:
        """Return the texts of the groups from 1 on."""
        return tuple(None if g is None else g.decode("latin-1") for g in self._match.groups())
