"""Settings records and their merge.

A module keeps two records, one per server and one per folder, as httpd does.  A record is a slotted dataclass whose fields are made by
`setting`; a field left UNSET takes the value of the layer below.  UNSET is never a legal value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, fields
from functools import cache
from typing import Any, Final, TypeVar


class _Unset:
    def __repr__(self) -> str:
        return "UNSET"

    def __bool__(self) -> bool:
        raise TypeError("a setting was read before it was merged and filled in")


UNSET: Final[Any] = _Unset()
R = TypeVar("R")
MergeField = Callable[[Any, Any], Any]


def setting(default: Any = None, *, merge: MergeField | None = None, make: Callable[[], Any] | None = None) -> Any:
    """A field of a settings record.

    *default* (or *make*, for mutable ones) is the value where no layer sets it; *merge(base, over)* combines two set
    values, by default the inner one wins.  *merge* returns a new object, it never changes its arguments.
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
def _plan(kind: type[Any]) -> tuple[tuple[str, MergeField | None, Any, Callable[[], Any] | None], ...]:
    return tuple((f.name, f.metadata.get("merge"), f.metadata.get("default"), f.metadata.get("make")) for f in fields(kind))


def merge(base: R, over: R) -> R:
    """A new record: *over* laid on *base*, field by field; a record's own ``laid_over(base)`` method replaces the rule."""
    own = getattr(over, "laid_over", None)
    if own is not None:
        whole: R = own(base)
        return whole
    kind: Any = type(over)
    out: R = kind.__new__(kind)
    for name, combine, _default, _make in _plan(kind):
        low, high = getattr(base, name), getattr(over, name)
        if high is UNSET:
            high = low
        elif combine is not None and low is not UNSET:
            high = combine(low, high)
        setattr(out, name, high)
    return out


def filled(record: R) -> R:
    """A copy with the defaults in place of UNSET: what hooks read."""
    kind: Any = type(record)
    out: R = kind.__new__(kind)
    for name, _combine, default, make in _plan(kind):
        value = getattr(record, name)
        if value is UNSET:
            value = make() if make is not None else default
        setattr(out, name, value)
    return out
