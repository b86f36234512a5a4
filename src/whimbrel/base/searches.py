"""Matches of a search, and blocks of code in which no search may take long."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from whimbrel.base.static_typing import Any, Final, Protocol


class Match(Protocol):
    """A match; groups count from 0, a group that took no part is None."""

    def group(self, number: int = 0, /) -> Any: ...

    def groups(self) -> Any: ...

    def start(self, number: int = 0, /) -> int: ...

    def end(self, number: int = 0, /) -> int: ...


class LongSearch(Exception):
    """A search of `short_searches` would take long."""


_IS_SHORT_ONLY: Final[ContextVar[bool]] = ContextVar("searches are short", default=False)


@contextmanager
def short_searches() -> Iterator[None]:
    """Raise LongSearch for each search in the block whose steps exceed what an event loop can spare."""
    token = _IS_SHORT_ONLY.set(True)
    try:
        yield
    finally:
        _IS_SHORT_ONLY.reset(token)


def check_long_search() -> None:
    """Raise LongSearch within `short_searches`."""
    if _IS_SHORT_ONLY.get():
        raise LongSearch
