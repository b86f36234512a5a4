"""PCRE's interpreter in the shared library of the system, called without the GIL.

The package `pcre2` keeps the GIL during a search. A search of ten million steps then stops all threads for
half a second.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from time import perf_counter

from whimbrel.base.static_typing import Any, Final

_NAME: Final = "libpcre2-8.so.0"
BATCH_SECONDS: Final = 0.005  # of one call of `find_some`, which one thread runs
_NO_MATCH: Final = -1
_INFO_LAST_UNIT: Final = 11
_INFO_LAST_TYPE: Final = 12
_UNSET: Final = ctypes.c_size_t(-1).value  # offset of a group that took no part


class GaveUp(Exception):
    """The search has exceeded a limit."""


class Library:
    """The functions of the library."""

    __slots__ = ("_library",)

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library: Any = library
        pointer = ctypes.c_void_p
        size = ctypes.c_size_t
        number = ctypes.c_uint32
        for name, result, arguments in (
            ("compile", pointer, (ctypes.c_char_p, size, number, pointer, pointer, pointer)),
            ("code_free", None, (pointer,)),
            ("match_data_create_from_pattern", pointer, (pointer, pointer)),
            ("match_data_free", None, (pointer,)),
            ("get_ovector_count", number, (pointer,)),
            ("get_ovector_pointer", ctypes.POINTER(size), (pointer,)),
            ("pattern_info", ctypes.c_int, (pointer, number, pointer)),
            ("match", ctypes.c_int, (pointer, pointer, size, size, number, pointer, pointer)),
        ):
            function = getattr(library, f"pcre2_{name}_8")
            function.restype = result
            function.argtypes = arguments

    def compile(self, text: bytes, options: int) -> InterpretedPattern:
        """Return the pattern; *text* has been compiled with these PCRE2 options by the package `pcre2`.

        Raises:
            GaveUp: this library does not compile it.
        """
        error = ctypes.c_int()
        offset = ctypes.c_size_t()
        code = self._library.pcre2_compile_8(
            text, len(text), options, ctypes.byref(error), ctypes.byref(offset), None
        )
        if not code:
            raise GaveUp
        return InterpretedPattern(self._library, code)


class InterpretedPattern:
    """A pattern without compiled code."""

    __slots__ = ("_code", "_library", "_required")

    def __init__(self, library: Any, code: int) -> None:
        self._library = library
        self._code = code
        self._required = self._required_bytes()

    def _required_bytes(self) -> tuple[bytes, ...]:
        """Return a byte that is in every match, in both cases; () if PCRE knows none."""
        value = ctypes.c_uint32()
        for what in (_INFO_LAST_TYPE, _INFO_LAST_UNIT):
            if self._library.pcre2_pattern_info_8(self._code, what, ctypes.byref(value)) or not value.value:
                return ()
        byte = bytes((value.value,))
        return tuple({byte.lower(), byte.upper()})

    def cannot_match(self, data: bytes, start: int = 0) -> bool:
        """Return True if *data* from *start* on lacks a byte that is in every match.

        PCRE looks for it first, too; here it saves the way to a thread, which has a low priority.
        """
        return bool(self._required) and all(data.find(byte, start) < 0 for byte in self._required)

    def __del__(self) -> None:
        self._library.pcre2_code_free_8(self._code)

    def search(self, data: bytes) -> Span | None:
        """Return the first match in *data*.

        Raises:
            GaveUp: a limit was exceeded.
        """
        with self._state() as state:
            return self._match(state, data, 0)

    def find_some(self, data: bytes, start: int) -> list[tuple[int, Span]]:
        """Return matches of *data* from *start* on, with the start of each search; [] if there are no more.

        The subject of each search begins behind the last match. The list ends with a match of nothing, and
        with the first match after `BATCH_SECONDS`: one search is made however late the thread runs. A search
        that exceeds a limit finds nothing.
        """
        matches: list[tuple[int, Span]] = []
        end = perf_counter() + BATCH_SECONDS
        with self._state() as state:
            while True:
                try:
                    match = self._match(state, data, start)
                except GaveUp:
                    break
                if match is None:
                    break
                matches.append((start, match))
                if not match.end() or perf_counter() >= end:
                    break
                start += match.end()
        return matches

    @contextmanager
    def _state(self) -> Iterator[int]:
        state: int = self._library.pcre2_match_data_create_from_pattern_8(self._code, None)
        try:
            yield state
        finally:
            self._library.pcre2_match_data_free_8(state)

    def _match(self, state: int, data: bytes, start: int) -> Span | None:
        library = self._library
        subject = (ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0) + start
        found = library.pcre2_match_8(self._code, subject, len(data) - start, 0, 0, state, None)
        if found == _NO_MATCH:
            return None
        if found < 0:
            raise GaveUp
        count = library.pcre2_get_ovector_count_8(state)
        return Span(data, start, library.pcre2_get_ovector_pointer_8(state)[: 2 * count])


class Span:
    """A match, with the interface of a match of `re`; offsets count from the start of the search."""

    __slots__ = ("_data", "_offsets", "_start")

    def __init__(self, data: bytes, start: int, offsets: list[int]) -> None:
        self._data = data
        self._start = start
        self._offsets = offsets

    def start(self, number: int = 0, /) -> int:
        """Return where a group begins, -1 if it took no part."""
        offset = self._offsets[2 * number]
        return -1 if offset == _UNSET else offset

    def end(self, number: int = 0, /) -> int:
        """Return where a group ends, -1 if it took no part."""
        offset = self._offsets[2 * number + 1]
        return -1 if offset == _UNSET else offset

    def group(self, number: int = 0, /) -> bytes | None:
        """Return the bytes of a group."""
        if number < 0 or 2 * number >= len(self._offsets):
            raise IndexError("no such group")
        if self._offsets[2 * number] == _UNSET:
            return None
        return self._data[self._start + self.start(number) : self._start + self.end(number)]

    def groups(self) -> tuple[bytes | None, ...]:
        """Return the groups from 1 on."""
        return tuple(self.group(number) for number in range(1, len(self._offsets) // 2))


@lru_cache(maxsize=1)
def load_library() -> Library | None:
    """Return the shared library, None if the system has none."""
    try:
        return Library(ctypes.CDLL(_NAME))
    except (OSError, AttributeError):
        return None
