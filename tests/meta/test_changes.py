"""The table of changes, the rules and the dialects name the same rows.

rows.txt holds the numbers of the table, OWN those beyond it.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import whimbrel.upgrade
from tests.meta.tree import assert_none
from whimbrel.base.dialect import Dialect
from whimbrel.upgrade.documents.explain import rule_of
from whimbrel.upgrade.rules import all_rules

ROWS = Path(__file__).with_name("rows.txt").read_text(encoding="ascii").split()

# Rows beyond the table, by the name of their document.
OWN = {
    "R01": "unsafe-urls",
    "R02": "redirect-queries",
    "R03": "compared-case",
    "R04": "no-slash",
    "R05": "authorities-of-directories",
    "R06": "ends-of-paths",
    "R07": "merged-slashes",
    "R08": "host-underscores",
    "R09": "strict-requests",
    "R10": "bare-access-lines",
    "R11": "fcgid-names",
    "R12": "php-handlers",
    "R13": "php-branches",
    "R14": "unknown-handlers",
    "R15": "jk-mounts",
    "R16": "condition-expressions",
    "R17": "wsgi-lines",
}
DOCUMENTS = Path(whimbrel.upgrade.__file__).with_name("documents")

_NAMES = "names of modules and directives, which catalogue and tables list for each version"
_ELSEWHERE = "about building, packaging or a program, not about what a server makes of a configuration"
_FORM = "a form of text that both versions read alike"
_LATER = "about a module without behaviour so far: its lines stop the start in every dialect"
_SAME = "follows from how 2.4 decides, which its own modules do and no switch changes"

# Rows without a switch, and why.
WITHOUT_SWITCH = {
    "C01": _ELSEWHERE,
    "C02": _NAMES,
    "C03": _NAMES,
    "C04": _ELSEWHERE,
    "C05": _NAMES,
    "C06": _ELSEWHERE,
    "C07": _NAMES,
    "C08": _NAMES,
    "C10": "how a file's bytes travel, which no client sees",
    "C15": _NAMES,
    "C19": _FORM,
    "C21": _SAME,
    "C23": _NAMES,
    "C24": _NAMES,
    "C28": _LATER,
    "C29": _LATER,
    "C30": _LATER,
    "C31": _NAMES,
    "C32": _LATER,
    "C33": _LATER,
    "C34": _NAMES,
    "C36": _LATER,
    "C37": _LATER,
    "C42": _LATER,
    "C45": _NAMES,
    "C46": _NAMES,
    "C48": _ELSEWHERE,
    "C49": "row C35 seen from error documents",
    "C50": "messages: the texts of the modules that give them",
    "C51": _ELSEWHERE,
    "C53": _NAMES,
    "C54": "five other rows together",
    "X04": _LATER,
    "X06": _NAMES,
    "X07": _LATER,
    "X10": _FORM,
    "X11": _NAMES,
    "X12": _SAME,
    "X14": _SAME,
    "X15": _ELSEWHERE,
    "X16": _ELSEWHERE,
    "X18": _FORM,
    "X19": _NAMES,
    "X21": _FORM,
    "X22": _FORM,
    "X23": _NAMES,
    "X24": _NAMES,
}
NO_ROWS = {"wire", "added", "unlisted"}


def covered() -> set[str]:
    return {number for rule in all_rules() for number in (rule.number, *rule.also)}


def test_the_rows_are_those_of_the_table() -> None:
    assert len(ROWS) == len(set(ROWS)) == 54 + 24


def test_every_row_has_a_rule() -> None:
    assert_none(sorted(set(ROWS) - covered()))


def test_every_rule_has_a_row() -> None:
    assert_none(sorted(covered() - set(ROWS) - set(OWN)))


def test_rows_of_our_own_have_rules_and_documents() -> None:
    assert not set(OWN) & set(ROWS)
    assert {rule.number: rule.name for rule in all_rules() if rule.number in OWN} == OWN
    assert_none(
        [
            name
            for number, title in OWN.items()
            if not (DOCUMENTS / (name := f"{number}-{title}.md")).is_file()
        ]
    )


def test_explain_knows_the_rows_of_our_own() -> None:
    assert_none([number for number in OWN if rule_of(number) is None])


def test_no_number_is_given_twice() -> None:
    numbers = [rule.number for rule in all_rules()]
    assert_none(sorted({number for number in numbers if numbers.count(number) > 1}))


def test_every_row_has_a_switch_or_a_reason_why_not() -> None:
    switches = {f.metadata["row"] for f in dataclasses.fields(Dialect) if "row" in f.metadata} - NO_ROWS
    assert switches | set(WITHOUT_SWITCH) == set(ROWS)
    assert_none(sorted(switches & set(WITHOUT_SWITCH)))
