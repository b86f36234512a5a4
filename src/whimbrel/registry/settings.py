"""Configuration records and their merge.

A module has two records, one per server and one per directory, as in httpd.  A record is a slotted dataclass
whose fields are made by `setting`. A field left UNSET takes the value of the layer below; UNSET is never a
legal value.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from whimbrel.base.lazy_dataclasses import field, fields
from whimbrel.base.static_typing import Any, Final, TypeVar


class _Unset:
    def __repr__(self) -> str:
        return "UNSET"

    def __bool__(self) -> bool:
        raise TypeError("a setting was read before it was merged and filled in")


UNSET: Final[Any] = _Unset()
SPECIALIZE_THRESHOLD: Final = 200  # uses of a record type after which generated functions pay off
R = TypeVar("R")
MergeField = Callable[[Any, Any], Any]


def setting(
    default: object = None, *, merge: MergeField | None = None, make: Callable[[], Any] | None = None
) -> Any:
    """Return a field of a configuration record.

    *default* (or *make*, for mutable values) is the value if no layer sets it; *merge(base, over)* combines
    two set values; by default the inner one wins.  *merge* returns a new object and never changes its
    arguments.
    """
    return field(default=UNSET, metadata={"default": default, "make": make, "merge": merge})


def appended(base: Any, over: Any) -> Any:
    """Merge of lists: the outer layer's entries, then the inner one's."""
    return base + over


def prepended(base: Any, over: Any) -> Any:
    """Merge of lists: the inner layer's entries first."""
    return over + base


def overlaid(base: Any, over: Any) -> Any:
    """Merge of dictionaries: the inner layer's entries win."""
    return {**base, **over}


@cache
def _field_specs(kind: type[Any]) -> tuple[tuple[str, MergeField | None, Any, Callable[[], Any] | None], ...]:
    return tuple(
        (f.name, f.metadata.get("merge"), f.metadata.get("default"), f.metadata.get("make"))
        for f in fields(kind)
    )


@cache
def field_names(kind: object) -> tuple[str, ...]:
    """Return the names of a record type's fields; () for a type that is no record."""
    return tuple(name for name, *_ in _field_specs(kind)) if hasattr(kind, "__dataclass_fields__") else ()


@cache
def has_merge(kind: object, name: str) -> bool:
    """Return True if the values of two layers are combined, rather than the inner one replacing the outer."""
    specs = _field_specs(kind) if hasattr(kind, "__dataclass_fields__") else ()
    return any(merge is not None for field_name, merge, *_ in specs if field_name == name)


@cache
def _defaults(kind: object) -> dict[str, tuple[Any, Callable[[], Any] | None]]:
    return {name: (default, make) for name, _merge, default, make in _field_specs(kind)}


def default_of(kind: object, name: str) -> Any:
    """Return the value of a field that no layer sets."""
    default, make = _defaults(kind)[name]
    return default if make is None else make()


class _Specialized:
    """`merge` and `with_defaults` for one record type; generated functions without loops after many uses
    (thousands of hosts).
    """

    __slots__ = ("_count", "_kind", "with_defaults", "merge")

    def __init__(self, kind: type[Any]) -> None:
        self._kind = kind
        self._count = 0
        self.merge: Callable[[Any, Any], Any] | None = None
        self.with_defaults: Callable[[Any], Any] | None = None

    def count(self) -> None:
        """It was requested once more."""
        self._count += 1
        if self._count == SPECIALIZE_THRESHOLD:
            self.merge, self.with_defaults = _generate(self._kind)


@cache
def _specialized(kind: Any) -> _Specialized:
    return _Specialized(kind)


def _generate(kind: object) -> tuple[Callable[[Any, Any], Any], Callable[[Any], Any]]:
    """Return the two functions as code that names every field."""
    merging = ["def merge(base, over):", " out = new(kind)"]
    filling = ["def filled(record):", " out = new(kind)"]
    names: dict[str, Any] = {"new": kind.__new__, "kind": kind, "UNSET": UNSET}
    for number, (name, combine, default, make) in enumerate(_field_specs(kind)):
        names |= {f"combine{number}": combine, f"default{number}": default, f"make{number}": make}
        merging.append(f" high = over.{name}")
        if combine is None:
            merging.append(f" out.{name} = base.{name} if high is UNSET else high")
        else:
            merging.append(f" low = base.{name}")
            merging.append(
                f" out.{name} = low if high is UNSET else high if low is UNSET else combine{number}(low, "
                f"high)"
            )
        filling.append(f" value = record.{name}")
        filling.append(
            f" out.{name} = {f'make{number}()' if make is not None else f'default{number}'} if value is "
            f"UNSET else value"
        )
    exec(
        "\n".join([*merging, " return out", *filling, " return out"]), names
    )  # the names are those of dataclass fields
    return names["merge"], names["filled"]


class Unmerged:
    """Base of records that httpd does not merge: the inner one alone counts."""

    __slots__ = ()

    def merge_onto(self, _base: Any) -> Any:
        """Return this record."""
        return self


class ReplacedRecord:
    """Base of records without a merge function in httpd: one with a field that a directive has set counts."""

    __slots__ = ()

    def merge_onto(self, base: Any) -> Any:
        """Return this record if a field of it is set, else *base*."""
        kind: Any = type(self)
        return self if any(getattr(self, name) is not UNSET for name in field_names(kind)) else base


def merge(base: R, over: R) -> R:
    """Return *over* merged on *base*, field by field; a record's ``merge_onto(base)`` method replaces the
    rule.
    """
    merge_onto = getattr(over, "merge_onto", None)
    if merge_onto is not None:
        merged: R = merge_onto(base)
        return merged
    kind: Any = type(over)
    specialized = _specialized(kind)
    if specialized.merge is not None:
        merged_fast: R = specialized.merge(base, over)
        return merged_fast
    specialized.count()
    out: R = kind.__new__(kind)
    for name, combine, _default, _make in _field_specs(kind):
        low = getattr(base, name)
        high = getattr(over, name)
        if high is UNSET:
            high = low
        elif combine is not None and low is not UNSET:
            high = combine(low, high)
        setattr(out, name, high)
    return out


def with_defaults(record: R) -> R:
    """Return a copy with the defaults in place of UNSET: what hooks read."""
    kind: Any = type(record)
    specialized = _specialized(kind)
    if specialized.with_defaults is not None:
        completed: R = specialized.with_defaults(record)
        return completed
    specialized.count()
    out: R = kind.__new__(kind)
    for name, _combine, default, make in _field_specs(kind):
        value = getattr(record, name)
        if value is UNSET:
            value = make() if make is not None else default
        setattr(out, name, value)
    return out
