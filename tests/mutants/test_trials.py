"""Functions that live get the code of a mutation; what an import has run cannot be exchanged."""

from __future__ import annotations

from types import FunctionType

import pytest

from tests.mutants.trials import changed_codes, exchanged

BEFORE = b"""
LIMIT = 5

def outer(number):
    def inner(other):
        return other + number
    return inner

class Owner:
    kind = "a"
    def method(self):
        return [one + 1 for one in (1, 2)]
"""


def functions(path: str) -> dict[str, FunctionType]:
    """Return the functions of the text, as an import makes them."""
    names: dict[str, FunctionType] = {}
    exec(compile(BEFORE, path, "exec"), names)
    owner = vars(names["Owner"])
    return {"outer": names["outer"], "inner": names["outer"](1), "method": owner["method"]}


@pytest.mark.parametrize(
    ("old", "new", "changed", "argument", "result"),
    [
        (b"other + number", b"other - number", "inner", 5, 4),
        (b"one + 1", b"one + 2", "method", None, [3, 4]),
        (b"return inner", b"return None", "outer", 1, None),
    ],
)
def test_functions_are_exchanged(
    old: bytes, new: bytes, changed: str, argument: object, result: object
) -> None:
    codes = changed_codes(BEFORE, BEFORE.replace(old, new), "a.py")
    assert codes is not None
    live = functions("a.py")
    exchanged(list(live.values()), codes)
    assert live[changed](argument) == result


@pytest.mark.parametrize(
    ("old", "new"), [(b"LIMIT = 5", b"LIMIT = 6"), (b'"a"', b'"b"'), (b"def outer", b"def other")]
)
def test_what_an_import_runs_takes_a_process(old: bytes, new: bytes) -> None:
    assert changed_codes(BEFORE, BEFORE.replace(old, new), "a.py") is None
