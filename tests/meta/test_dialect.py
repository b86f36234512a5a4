"""The switches of the dialects: each names its row of the table of changes, and each is a difference."""

from __future__ import annotations

import dataclasses
import re

from tests.meta.tree import assert_none
from whimbrel.dialect import DIALECTS, GUIDE, V22, V24, Dialect

ROW = re.compile(r"C(?:0[1-9]|[1-4]\d|5[0-4])|X(?:0[1-9]|1\d|2[0-4])|wire")
SWITCHES = [f for f in dataclasses.fields(Dialect) if f.name != "name"]


def test_every_switch_names_a_row() -> None:
    assert_none([f.name for f in SWITCHES if not ROW.fullmatch(f.metadata.get("row", ""))])


def test_every_switch_says_what_it_means() -> None:
    assert_none([f.name for f in SWITCHES if len(f.metadata.get("meaning", "")) < 10])


def test_every_switch_makes_a_difference() -> None:
    assert_none([f.name for f in SWITCHES if getattr(V22, f.name) == getattr(V24, f.name) == getattr(GUIDE, f.name)])


def test_the_dialects_are_known_by_name() -> None:
    assert {name: d.name for name, d in DIALECTS.items()} == {"2.2": "2.2", "2.4": "2.4", "guide": "guide"}
