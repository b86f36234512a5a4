"""Functions that live get the code of a mutation; what an import has run cannot be exchanged."""

from __future__ import annotations

import sys
from types import FunctionType, ModuleType

import pytest

from tests.mutants.places import Mutation
from tests.mutants.run import near
from tests.mutants.trials import changed_codes, exchanged, rebound

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


def test_constants_are_exchanged_wherever_they_are_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    text = BEFORE + b"NAMES = {'a': 1}\nMADE = {'f': outer}\n"
    module, other = ModuleType("mutated"), ModuleType("importing")
    module.__file__ = "a.py"
    exec(compile(text, "a.py", "exec"), vars(module))
    made = vars(module)["MADE"]
    vars(other).update(LIMIT=vars(module)["LIMIT"], ALIAS=vars(module)["NAMES"], FIVE=5)
    for one in (module, other):
        monkeypatch.setitem(sys.modules, one.__name__, one)
    assert rebound("a.py", text.replace(b"5", b"6").replace(b"'a': 1", b"'b': 1"))
    assert (vars(other)["LIMIT"], vars(other)["ALIAS"], vars(other)["FIVE"]) == (6, {"b": 1}, 5)
    assert vars(module)["MADE"] is made
    assert not rebound("a.py", text + b"1 / 0\n") and not rebound("b.py", text)


@pytest.mark.parametrize(
    ("old", "new"), [(b"LIMIT = 5", b"LIMIT = 6"), (b'"a"', b'"b"'), (b"def outer", b"def other")]
)
def test_what_an_import_runs_takes_a_process(old: bytes, new: bytes) -> None:
    assert changed_codes(BEFORE, BEFORE.replace(old, new), "a.py") is None


def test_without_notes_the_tests_of_the_module_come_first_then_all_files_in_turns() -> None:
    mutation = Mutation("src/whimbrel/http/syntax/url.py", 1, 1, 0, 1, "a", "b", "constant", "f")
    found = [
        "tests/meta/test_static.py::test_a",
        *(f"tests/unit/http/syntax/test_head.py::test_{number}" for number in (1, 2)),
        *(f"tests/unit/http/syntax/test_url.py::test_{number}" for number in (1, 2)),
        "tests/unit/http/test_other.py::test_1",
        "tests/unit/modules/test_far.py::test_1",
    ]
    chosen, is_import = near(mutation, found)
    assert [test.rpartition("/")[2] for test in chosen] == [
        "test_url.py::test_1",
        "test_url.py::test_2",
        "test_head.py::test_1",
        "test_head.py::test_2",
        "test_other.py::test_1",
        "test_static.py::test_a",
    ]
    assert not is_import
