"""lazy_dataclasses equal the standard library's: every expected value comes from the same class built by
`dataclasses`.
"""

from __future__ import annotations

import copy
import dataclasses
import sys
from collections.abc import Callable
from typing import Any

import pytest

from whimbrel.base import lazy_dataclasses

Maker = Callable[..., Any]


def family(made: Any) -> dict[str, Any]:
    """Return classes of every kind that Whimbrel has, built by *made* (a module with `dataclass` and
    `field`).
    """
    dataclass, field = made.dataclass, made.field

    @dataclass(frozen=True, slots=True)
    class Place:
        path: str
        line: int = 1
        around: Any = None

    @dataclass(slots=True)
    class Record:
        name: str
        words: list[str] = field(default_factory=list)
        hidden: int = field(default=3, repr=False)
        ignored: int = field(default=0, compare=False)
        counted: int = field(default=7, init=False)

    @dataclass(slots=True, eq=False)
    class Node:
        name: str
        parent: Any = None

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Row:
        name: str
        help: str = ""

    @dataclass(slots=True)
    class Base:
        one: int = 1

    @dataclass(slots=True)
    class Derived(Base):
        two: int = 2

    @dataclass(frozen=True)
    class Open:
        one: int = 1
        twice: int = 0

        def __post_init__(self) -> None:
            object.__setattr__(self, "twice", 2 * self.one)

    @dataclass(slots=True)
    class Own:
        one: int

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

    return {kind.__name__: kind for kind in (Place, Record, Node, Row, Base, Derived, Open, Own)}


OURS, THEIRS = family(lazy_dataclasses), family(dataclasses)


def outcome(work: Callable[[], Any]) -> str:
    """Return the result of *work*, or how it fails; object addresses are masked."""
    try:
        return str(work())
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"


CASES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "repr": lambda k: k["Place"]("a", around=k["Place"]("b")),
    "repr leaves out": lambda k: k["Record"]("a"),
    "default factory": lambda k: (
        k["Record"]("a").words,
        k["Record"]("a").words is k["Record"]("a").words,
        k["Record"]("a", ["x"]).words,
    ),
    "equal": lambda k: (
        k["Place"]("a") == k["Place"]("a"),
        k["Place"]("a") == k["Place"]("b"),
        k["Place"]("a") == ("a", 1, None),
    ),
    "compares some": lambda k: (
        k["Record"]("a", ignored=1) == k["Record"]("a"),
        k["Record"]("a", hidden=1) == k["Record"]("a"),
    ),
    "identity": lambda k: (k["Node"]("a") == k["Node"]("a"), len({k["Node"]("a"), k["Node"]("a")})),
    "hash": lambda k: (
        hash(k["Place"]("a")) == hash(("a", 1, None)),
        len({k["Place"]("a"), k["Place"]("a")}),
    ),
    "no hash": lambda k: hash(k["Record"]("a")),
    "missing": lambda k: k["Record"](),
    "too many": lambda k: k["Place"]("a", 1, None, 4),
    "unknown": lambda k: k["Row"](name="a", more=1),
    "keywords only": lambda k: k["Row"]("a"),
    "keywords": lambda k: k["Row"](name="a"),
    "not given": lambda k: k["Record"]("a", counted=1),
    "frozen": lambda k: setattr(k["Place"]("a"), "line", 2),
    "frozen, deleting": lambda k: delattr(k["Open"](), "one"),
    "slots": lambda k: (k["Record"].__slots__, k["Derived"].__slots__, hasattr(k["Record"]("a"), "__dict__")),
    "inherited": lambda k: (
        k["Derived"](5, 6),
        k["Derived"](),
        [f.name for f in dataclasses.fields(k["Derived"])],
    ),
    "class attribute": lambda k: (k["Open"].one, hasattr(k["Open"](), "__dict__")),
    "post init": lambda k: k["Open"](4),
    "own methods": lambda k: (repr(k["Own"](1)), k["Own"](1) == 2, k["Own"].__hash__),
    "match": lambda k: (k["Record"].__match_args__, k["Row"].__match_args__, k["Place"].__match_args__),
    "copy": lambda k: (
        copy.copy(k["Place"]("a", 2)),
        copy.deepcopy(k["Record"]("a", ["b"])),
        copy.deepcopy(k["Place"]("a", 2)),
    ),
    "asdict": lambda k: dataclasses.asdict(k["Place"]("a", around=k["Record"]("b"))),
    "standard replace": lambda k: dataclasses.replace(k["Place"]("a"), line=9),
    "is one": lambda k: [dataclasses.is_dataclass(one) for one in (k["Place"], k["Place"]("a"))],
    "field": lambda k: [
        (f.name, f.type, f.init, f.repr, f.compare, f.kw_only)
        for kind in k.values()
        for f in dataclasses.fields(kind)
    ],
}


@pytest.mark.parametrize("case", CASES)
def test_as_the_standard_library(case: str) -> None:
    work = CASES[case]
    assert outcome(lambda: work(OURS)) == outcome(lambda: work(THEIRS))
    for _ in range(20):  # by then methods are compiled
        assert outcome(lambda: work(OURS)) == outcome(lambda: work(THEIRS))


@pytest.mark.parametrize("changes", [{"name": "b"}, {"words": []}, {"counted": 1}, {"nosuch": 1}, {}])
def test_replace(changes: dict[str, Any]) -> None:
    ours, theirs = OURS["Record"]("a", ["x"], 4), THEIRS["Record"]("a", ["x"], 4)
    mine, other = (
        outcome(lambda: lazy_dataclasses.replace(ours, **changes)),
        outcome(lambda: dataclasses.replace(theirs, **changes)),
    )
    is_new_class = "counted" in changes and sys.version_info >= (3, 13)  # TypeError in place of ValueError
    assert is_new_class or mine.partition(":")[0] == other.partition(":")[0]
    assert mine == other or mine.startswith("ValueError")


def test_fields_are_in_order() -> None:
    assert [f.name for f in lazy_dataclasses.fields(OURS["Derived"])] == ["one", "two"]
    assert [f.name for f in lazy_dataclasses.fields(OURS["Record"]("a"))] == [
        f.name for f in dataclasses.fields(THEIRS["Record"])
    ]


def test_mutable_defaults_are_refused() -> None:
    with pytest.raises(ValueError, match="mutable default"):

        @lazy_dataclasses.dataclass
        class Wrong:
            words: list[str] = []
