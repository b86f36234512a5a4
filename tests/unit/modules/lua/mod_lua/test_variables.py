"""Variables of r:ivm_set: bounds."""

from __future__ import annotations

import pytest

from whimbrel.modules.lua.mod_lua import variables


def test_shared_variables_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variables, "MAX_VARIABLE_BYTES", 100)
    monkeypatch.setattr(variables, "MAX_VARIABLES", 5)
    shared = variables.SharedVariables()
    for number in range(20):
        shared.set(f"n{number}", number)
    assert [shared.get(f"n{number}") for number in (14, 15, 19)] == [None, 15, 19]
    shared.set("a", "x" * 60)
    shared.set("a", "y" * 60)
    assert shared.get("n19") == 19
    shared.set("b", "z" * 60)
    assert shared.get("a") is None and shared.get("b") == "z" * 60
    shared.set("long" * 50, 1)
    assert shared.get("long" * 50) is None
