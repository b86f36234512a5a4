"""Trees of Require lines."""

from __future__ import annotations

from whimbrel.access.layers import Line
from whimbrel.upgrade.access_control.trees import DENIED, GRANTED, Leaf, all_of, any_of, inverted, written

ONE, TWO, USER = Leaf("ip", "10.0.0.1"), Leaf("ip", "10.0.0.2"), Leaf("valid-user")


def require(text: str) -> Line:
    return Line("require", text)


def test_constants_swallow_and_vanish() -> None:
    assert all_of([ONE, DENIED]) == DENIED
    assert all_of([ONE, GRANTED]) == ONE
    assert any_of([ONE, GRANTED]) == GRANTED
    assert any_of([DENIED, ONE]) == ONE


def test_a_negation_goes_down_to_the_leaves() -> None:
    assert inverted(all_of([ONE, USER])) == any_of([Leaf("ip", "10.0.0.1", True), Leaf("valid-user", "", True)])
    assert inverted(GRANTED) == DENIED


def test_alternatives_of_one_kind_are_one_line() -> None:
    assert written(any_of([ONE, TWO])) == (require("ip 10.0.0.1 10.0.0.2"),)
    assert written(all_of([any_of([ONE, TWO]), USER])) == (Line("requireall", "", None, (require("ip 10.0.0.1 10.0.0.2"), require("valid-user"))),)


def test_a_container_of_negations_grants_first() -> None:
    assert written(inverted(ONE)) == (Line("requireall", "", None, (require("all granted"), require("not ip 10.0.0.1"))),)
    assert written(inverted(any_of([ONE, TWO]))) == (Line("requireall", "", None, (require("all granted"), require("not ip 10.0.0.1 10.0.0.2"))),)


def test_constants_are_lines() -> None:
    assert written(GRANTED) == (require("all granted"),)
    assert written(DENIED) == (require("all denied"),)
