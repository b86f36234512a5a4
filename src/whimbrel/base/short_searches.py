"""Blocks of code in which no search of a pattern may take long."""

from __future__ import annotations

from contextvars import ContextVar, Token

from whimbrel.base.static_typing import Final

_IS_SHORT_ONLY: Final[ContextVar[bool]] = ContextVar("searches are short", default=False)


class LongSearch(Exception):
    """A search within `ShortSearches` would take long."""


class ShortSearches:
    """A block in which each search raises LongSearch whose steps exceed what an event loop can spare."""

    __slots__ = ("_token",)

    def __enter__(self) -> None:
        self._token: Token[bool] = _IS_SHORT_ONLY.set(True)

    def __exit__(self, *_problem: object) -> None:
        _IS_SHORT_ONLY.reset(self._token)


def check_long_search() -> None:
    """Raise LongSearch within `ShortSearches`."""
    if _IS_SHORT_ONLY.get():
        raise LongSearch
