"""The table of changes, the rules and the dialects name the same rows.  rows.txt holds the numbers of the table."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from tests.meta.tree import assert_none
from whimbrel.dialect import Dialect
from whimbrel.upgrade.rules import all_rules

ROWS = Path(__file__).with_name("rows.txt").read_text(encoding="ascii").split()

# Rows about what a server does with the same text, which the engine shows under both dialects.
WITH_SWITCH = {
    "C09", "C10", "C11", "C12", "C13", "C14", "C16", "C17", "C18", "C20", "C22", "C25", "C47", "C52",
    "X01", "X02", "X03", "X08", "X09", "X13", "X17",
}

# Rows that no rule knows so far.
ROWS_WITHOUT_RULE: set[str] = {
    "C01", "C02", "C03", "C04", "C05", "C06", "C08", "C09", "C10", "C11", "C12", "C13", "C14", "C15", "C16", "C18",
    "C19", "C20", "C21", "C22", "C23", "C24", "C25", "C26", "C27", "C28", "C29", "C30", "C31", "C32", "C33", "C34",
    "C35", "C36", "C37", "C38", "C39", "C40", "C41", "C42", "C43", "C44", "C45", "C46", "C47", "C48", "C49", "C50",
    "C51", "C52", "C53", "C54", "X01", "X02", "X03", "X04", "X05", "X06", "X07", "X08", "X09", "X10", "X11", "X12",
    "X13", "X14", "X15", "X16", "X17", "X18", "X19", "X20", "X21", "X22", "X23", "X24",
}


def covered() -> set[str]:
    return {number for rule in all_rules() for number in (rule.number, *rule.also)}


def test_the_rows_are_those_of_the_table() -> None:
    assert len(ROWS) == len(set(ROWS)) == 54 + 24


def test_every_row_has_a_rule() -> None:
    missing = sorted(set(ROWS) - covered())
    print("rows without rule:", *missing)
    assert missing == sorted(ROWS_WITHOUT_RULE)


def test_every_rule_has_a_row() -> None:
    assert_none(sorted(covered() - set(ROWS)))


def test_no_number_is_given_twice() -> None:
    numbers = [rule.number for rule in all_rules()]
    assert_none(sorted({number for number in numbers if numbers.count(number) > 1}))


def test_every_row_about_behaviour_has_a_switch() -> None:
    switches = {f.metadata["row"] for f in dataclasses.fields(Dialect) if "row" in f.metadata}
    assert_none(sorted(WITH_SWITCH - switches))
    assert switches - {"wire"} <= WITH_SWITCH
