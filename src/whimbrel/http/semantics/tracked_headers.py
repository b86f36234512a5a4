"""Request fields that remember which of them were requested: what a response depends on."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from whimbrel.http.semantics.headers import Headers, Pair

NO_TESTS: Final[Mapping[str, tuple[Container[str], ...]]] = MappingProxyType({})


class TrackedHeaders(Headers):
    """The fields of one request; reads are tracked.

    Attributes:
        accessed: lower-case names that were looked up, present or not.
        tests: by name, the sets in which a field's value was looked up; nothing else of this field is
            relevant, unless it is among `accessed`.
        all_fields_used: the table was iterated or changed, so the response may depend on any field.
    """

    __slots__ = ("accessed", "tests", "all_fields_used")

    def __init__(self, of: Headers) -> None:
        """Take over the entries of *of*, which must not be changed afterwards."""
        self._at = of._at
        self._more = of._more
        self.accessed: set[str] = set()
        self.tests: Mapping[str, tuple[Container[str], ...]] = NO_TESTS
        self.all_fields_used = False

    def get(self, name: str, default: str | None = None) -> str | None:
        low = name.lower()
        self.accessed.add(low)
        entry = self._at.get(low)
        return default if entry is None else entry[1]

    def get_classified(self, name: str, sets: tuple[Container[str], ...]) -> str | None:
        low = name.lower()
        known = self.tests.get(low)
        if known is None:
            self.tests = {**self.tests, low: sets}
        elif known is not sets:
            self.tests = {**self.tests, low: tuple(dict.fromkeys((*known, *sets)))}
        entry = self._at.get(low)
        return None if entry is None else entry[1]

    def has_none(self, names: frozenset[str]) -> bool:
        self.accessed |= names
        return names.isdisjoint(self._at)

    def get_list(self, name: str) -> str | None:
        self.accessed.add(name.lower())
        return super().get_list(name)

    def get_all(self, name: str) -> list[str]:
        self.accessed.add(name.lower())
        return super().get_all(name)

    def __contains__(self, name: object) -> bool:
        if isinstance(name, str):
            self.accessed.add(name.lower())
        return super().__contains__(name)

    # as a whole -----------------------------------------------------------------------------------
    def items(self) -> list[Pair]:
        self.all_fields_used = True
        return super().items()

    def names(self) -> list[str]:
        self.all_fields_used = True
        return super().names()

    def __iter__(self) -> Iterator[Pair]:
        self.all_fields_used = True
        return super().__iter__()

    def __len__(self) -> int:
        self.all_fields_used = True
        return super().__len__()

    def copy(self) -> Headers:
        """See Headers.copy; the copy has no record of reads."""
        self.all_fields_used = True
        return super().copy()

    def overlay(self, over: Headers) -> Headers:
        self.all_fields_used = True
        return super().overlay(over)

    # changes --------------------------------------------------------------------------------------
    def set(self, name: str, value: str) -> None:
        self.all_fields_used = True
        super().set(name, value)

    def add(self, name: str, value: str) -> None:
        self.all_fields_used = True
        super().add(name, value)

    def unset(self, name: str) -> None:
        self.all_fields_used = True
        super().unset(name)

    def merge(self, name: str, value: str) -> None:
        self.all_fields_used = True
        super().merge(name, value)

    def update(self, entries: Mapping[str, Pair]) -> None:
        self.all_fields_used = True
        super().update(entries)

    def clear(self) -> None:
        self.all_fields_used = True
        super().clear()

    def extend(self, pairs: Iterable[Pair]) -> None:
        self.all_fields_used = True
        super().extend(pairs)

    def compress(self) -> None:
        self.all_fields_used = True
        super().compress()


class RemainingHeaders(TrackedHeaders):
    """The fields of *of* without some, for a sub-request; reads and changes are tracked by *of*."""

    __slots__ = ("_of",)

    def __init__(self, of: TrackedHeaders, without: Iterable[str]) -> None:
        self._of = of
        self._at = of._at.copy()
        self._more = of._more
        for name in without:
            Headers.unset(self, name)

    @property
    def accessed(self) -> set[str]:  # type: ignore[override]
        return self._of.accessed

    @property
    def tests(self) -> Mapping[str, tuple[Container[str], ...]]:
        return self._of.tests

    @tests.setter
    def tests(self, tests: Mapping[str, tuple[Container[str], ...]]) -> None:
        self._of.tests = tests

    @property
    def all_fields_used(self) -> bool:
        return self._of.all_fields_used

    @all_fields_used.setter
    def all_fields_used(self, are_used: bool) -> None:
        self._of.all_fields_used = are_used
