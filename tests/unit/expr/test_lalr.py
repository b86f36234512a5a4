"""The automaton: that of a parser generator, so that its messages are httpd's."""

from __future__ import annotations

from whimbrel.expr.grammar import RULES, TOKENS
from whimbrel.expr.lalr import states


def test_every_rule_is_completed_in_some_state() -> None:
    reduced = {id(state.reduce) for state in states() if state.reduce is not None}
    assert [rule.name for rule in RULES[1:] if id(rule) not in reduced] == []


def test_a_state_that_ends_one_rule_ends_no_other() -> None:
    ends = [rule for rule in RULES[1:] if rule.parts[-1:] == ("$end",)]
    assert ends == []
    assert all(state.shift or state.reduce is not None for state in states())


def test_and_binds_closer_than_or() -> None:
    table = states()
    complete = {state.reduce.parts: state for state in table if state.reduce is not None}
    assert "T_OP_AND" in complete["expr", "T_OP_OR", "expr"].shift
    assert "T_OP_OR" not in complete["expr", "T_OP_AND", "expr"].shift


def test_tokens_of_the_rules_are_known() -> None:
    names = {rule.name for rule in RULES}
    assert {part for rule in RULES for part in rule.parts} - names <= set(TOKENS)
