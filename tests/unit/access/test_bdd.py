"""Diagrams agree with truth tables, trivial operands included."""

from __future__ import annotations

import random
import subprocess
import sys
from itertools import product
from typing import Any

from whimbrel.access.bdd import Bdd

NAMES = ("a", "b", "c", "d")
ROWS = tuple(product((False, True), repeat=len(NAMES)))
Table = tuple[bool, ...]


def value(diagram: Bdd, function: Any) -> Table:
    """Return the truth table of *function*."""
    return tuple(diagram.let(dict(zip(NAMES, row, strict=True)), function) == diagram.true for row in ROWS)


def test_random_functions_have_their_truth_tables() -> None:
    diagram, chance = Bdd(), random.Random(1)
    diagram.declare(*NAMES)
    known: list[tuple[Any, Table]] = [
        (diagram.true, (True,) * len(ROWS)),
        (diagram.false, (False,) * len(ROWS)),
        *((diagram.var(name), tuple(row[at] for row in ROWS)) for at, name in enumerate(NAMES)),
    ]
    for _ in range(400):
        (left, first), (right, second) = chance.choice(known), chance.choice(known)
        kind = chance.choice(("and", "or", "not"))
        if kind == "and":
            made = left & right, tuple(a and b for a, b in zip(first, second, strict=True))
        elif kind == "or":
            made = left | right, tuple(a or b for a, b in zip(first, second, strict=True))
        else:
            made = ~left, tuple(not a for a in first)
        assert value(diagram, made[0]) == made[1]
        known.append(made)
    for function, table in known:
        assert [function == other for other, _ in known] == [table == its for _, its in known]
        assert [function != other for other, _ in known] == [table != its for _, its in known]


def test_functions_of_other_managers_are_different() -> None:
    one, other = Bdd(), Bdd()
    assert one.true != other.true
    assert one.true == one.true


def test_importing_leaves_out_what_draws_graphs() -> None:
    program = (
        "import sys, whimbrel.access.bdd\n"
        "print([name for name in sys.modules if name.startswith('networkx')])\n"
        "import networkx\n"
        "print(networkx.MultiDiGraph.__name__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, timeout=60, capture_output=True, text=True
    )
    assert done.stdout.splitlines() == ["[]", "MultiDiGraph"]
