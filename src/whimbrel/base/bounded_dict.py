"""A dictionary with a bound, for caches whose entries can be computed again."""

from __future__ import annotations

from whimbrel.base.static_typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedDict(dict[K, V]):
    """A dictionary of at most *maxsize* entries: assigning one more drops all others first.

    Dropping everything costs less than tracking use, and lookups are those of a dictionary. Only assignment
    (``d[key] = value``) is bounded; do not use `update` or `setdefault`.
    """

    __slots__ = ("maxsize",)

    def __init__(self, maxsize: int) -> None:
        super().__init__()
        self.maxsize = maxsize

    def __setitem__(self, key: K, value: V) -> None:
        if len(self) >= self.maxsize and key not in self:
            self.clear()
        dict.__setitem__(self, key, value)
