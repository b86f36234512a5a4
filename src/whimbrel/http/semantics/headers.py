"""Header tables: ordered, without regard to case, several values per name.

The behaviour is APR's table: `set` changes the first entry of a name in place (its spelling stays) and drops
the others, `merge` joins with a comma, `overlay` puts one table before another.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping

from whimbrel.base.numbers import is_digits, strip

Pair = tuple[str, str]


class Headers:
    """An ordered table of (name, value).

    Entries are in one dict keyed by the lower-case name; further entries of a name have a key with a NUL and
    a running number, which no name can contain.  So the common case, one value per name, is one dict access.
    """

    __slots__ = ("_at", "_more")

    def __init__(self, pairs: Iterable[Pair] = ()) -> None:
        self._at: dict[str, Pair] = {}
        self._more = 0
        if pairs:
            for name, value in pairs:
                self.add(name, value)

    @classmethod
    def from_unique(cls, entries: dict[str, Pair]) -> Headers:
        """Return a table that takes over *entries* (lower-case name -> (name, value)); no name twice."""
        headers = cls.__new__(cls)
        headers._at = entries
        headers._more = 0
        return headers

    def get(self, name: str, default: str | None = None) -> str | None:
        """Return the first value of *name*."""
        entry = self._at.get(name.lower())
        return default if entry is None else entry[1]

    def get_classified(self, name: str, sets: tuple[Container[str], ...]) -> str | None:
        """Return the value of a field; the caller promises to depend only on its membership in *sets*."""
        entry = self._at.get(name.lower())
        return None if entry is None else entry[1]

    def has_none(self, names: frozenset[str]) -> bool:
        """Return True if there is no entry for any of *names*, which are in lower case."""
        return names.isdisjoint(self._at)

    def get_all(self, name: str) -> list[str]:
        """Every value of *name*, in order."""
        low = name.lower()
        if not self._more:
            entry = self._at.get(low)
            return [] if entry is None else [entry[1]]
        return [value for spelled, value in self._at.values() if spelled.lower() == low]

    def get_list(self, name: str) -> str | None:
        """Return all values of a list field joined with ``, ``, None without one (RFC 9110, 5.3).

        A recipient that reads the first line alone misses what the others forbid, such as ``Vary: *``.
        """
        low = name.lower()
        entry = self._at.get(low)
        if entry is None or not self._more:
            return None if entry is None else entry[1]
        return ", ".join([value for spelled, value in self._at.values() if spelled.lower() == low])

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._at

    def set(self, name: str, value: str) -> None:
        """Set one value in place of the first entry, and remove the others; or append it."""
        low = name.lower()
        entry = self._at.get(low)
        if self._more and entry is not None:
            self._drop_later(low)
        self._at[low] = (name if entry is None else entry[0], value)

    def update(self, entries: Mapping[str, Pair]) -> None:
        """`set` each of *entries*, which are keyed by the names in lower case."""
        if self._at:
            for name, value in entries.values():
                self.set(name, value)
        else:
            self._at.update(entries)

    def add(self, name: str, value: str) -> None:
        """A further entry at the end, whatever is there."""
        low = name.lower()
        if low in self._at:
            self._more += 1
            low = f"{low}\0{self._more}"
        self._at[low] = (name, value)

    def unset(self, name: str) -> None:
        """Remove every entry of *name*."""
        low = name.lower()
        if self._more:
            self._drop_later(low)
        self._at.pop(low, None)

    def merge(self, name: str, value: str) -> None:
        """Append ``, value`` to the first entry of *name*, or add it."""
        low = name.lower()
        entry = self._at.get(low)
        self._at[low] = (name, value) if entry is None else (entry[0], f"{entry[1]}, {value}")

    def items(self) -> list[Pair]:
        """Return the entries in order, names as they were given."""
        return list(self._at.values())

    def entries(self) -> Mapping[str, Pair]:
        """Return the first entry of each name, by the name in lower case; not to be changed.  Further entries
        have keys that are no names.
        """
        return self._at

    @property
    def is_unique(self) -> bool:
        """Return True if no name is repeated."""
        return not self._more

    def names(self) -> list[str]:
        """Return the names of the entries in order, repeated ones included."""
        return [name for name, _ in self._at.values()]

    def __iter__(self) -> Iterator[Pair]:
        return iter(list(self._at.values()))

    def __len__(self) -> int:
        return len(self._at)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Headers) and self.items() == other.items()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Headers({self.items()!r})"

    def copy(self) -> Headers:
        """Return a copy of the table."""
        headers = Headers.__new__(Headers)
        headers._at = self._at.copy()
        headers._more = self._more
        return headers

    def clear(self) -> None:
        """Remove everything."""
        self._at.clear()
        self._more = 0

    def extend(self, pairs: Iterable[Pair]) -> None:
        """`add` each of *pairs*."""
        for name, value in pairs:
            self.add(name, value)

    def overlay(self, over: Headers) -> Headers:
        """Return a new table: the entries of *over*, then those of this table, unmerged, so `get` returns the
        value of *over* first.
        """
        merged = over.copy()
        merged.extend(self._at.values())
        return merged

    def compress(self) -> None:
        """Join the values of a name with ``, `` at its first entry: how httpd reads a request with repeated
        headers (RFC 9110 5.3).
        """
        if not self._more:
            return
        joined = Headers()
        for name, value in self._at.values():
            joined.merge(name, value)
        self._at = joined._at
        self._more = 0

    def _drop_later(self, low: str) -> None:
        """Remove the second and later entries of a name; a second entry never becomes the first."""
        prefix = low + "\0"
        for key in [k for k in self._at if k.startswith(prefix)]:
            del self._at[key]


def single_length(values: Iterable[str]) -> str | None:
    """Return the number that all members of the Content-Length fields *values* are; None if they differ or
    one is no number (RFC 9110, section 8.6: a repeated number may be replaced, and not be forwarded).
    """
    members = {strip(member) for value in values for member in value.split(",")}
    number = members.pop() if len(members) == 1 else ""
    return number if is_digits(number) else None
