"""Trees of Require lines."""

from __future__ import annotations

from whimbrel.access.layers import AccessLine
from whimbrel.upgrade.access_control.trees import (
    DENIED,
    GRANTED,
    RequireLeaf,
    RequireNode,
    all_of,
    any_of,
    negate,
    to_lines,
)

ONE, TWO, USER = RequireLeaf("ip", "10.0.0.1"), RequireLeaf("ip", "10.0.0.2"), RequireLeaf("valid-user")


def require(text: str) -> AccessLine:
    return AccessLine("require", text)


def test_constants_swallow_and_vanish() -> None:
    assert all_of([ONE, DENIED]) == DENIED
    assert all_of([ONE, GRANTED]) == ONE
    assert any_of([ONE, GRANTED]) == GRANTED
    assert any_of([DENIED, ONE]) == ONE


def test_a_negation_goes_down_to_the_leaves() -> None:
    assert negate(all_of([ONE, USER])) == any_of(
        [RequireLeaf("ip", "10.0.0.1", True), RequireLeaf("valid-user", "", True)]
    )
    assert negate(GRANTED) == DENIED


def test_alternatives_of_one_kind_are_one_line() -> None:
    assert to_lines(any_of([ONE, TWO])) == (require("ip 10.0.0.1 10.0.0.2"),)
    assert to_lines(all_of([any_of([ONE, TWO]), USER])) == (
        AccessLine("requireall", "", None, (require("ip 10.0.0.1 10.0.0.2"), require("valid-user"))),
    )


def test_a_container_of_negations_grants_first() -> None:
    assert to_lines(negate(ONE)) == (
        AccessLine("requireall", "", None, (require("all granted"), require("not ip 10.0.0.1"))),
    )
    assert to_lines(negate(any_of([ONE, TWO]))) == (
        AccessLine("requireall", "", None, (require("all granted"), require("not ip 10.0.0.1 10.0.0.2"))),
    )


def test_constants_are_lines() -> None:
    assert to_lines(GRANTED) == (require("all granted"),)
    assert to_lines(DENIED) == (require("all denied"),)


def test_a_line_whose_words_another_line_has_adds_nothing() -> None:
    """Require user anna beside Require user anna bert: in a disjunction the second grants both."""
    two = RequireLeaf("user", "anna bert")
    one = RequireLeaf("user", "anna")
    assert any_of([two, one]) == any_of([one, two]) == two
    assert all_of([two, one]) == RequireNode(True, (two, one))  # both must hold: that is anna alone
    both = [RequireLeaf("user", "anna bert", True), RequireLeaf("user", "anna", True)]
    assert all_of(both) == both[0]
    assert any_of(both) == RequireNode(False, tuple(both))
    other = RequireLeaf("group", "anna")
    assert any_of([two, other]) == RequireNode(False, (two, other))
    quoted = RequireLeaf("user", '"anna bert" carl')
    assert any_of([quoted, RequireLeaf("user", "carl")]) != quoted


def test_joined_lines_have_each_word_once() -> None:
    tree = any_of([RequireLeaf("user", "anna bert"), RequireLeaf("user", "bert carl")])
    (line,) = to_lines(tree)
    assert line.args == "user anna bert carl"
