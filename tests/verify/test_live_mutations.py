"""Mistakes that apache2 shows are found by verify with their line; changes without effect are the same."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from tests.verify.live_kinds import VISIBLE, WITHOUT_EFFECT, Kind
from tests.verify.live_run import APACHE, Site, Trial, is_line_named, is_wrong, live_root, live_site, trial
from tests.verify.live_site import questions
from whimbrel.verify.answer import DecidingLine
from whimbrel.verify.causes import Cause
from whimbrel.verify.verification import DifferenceGroup, Verdict, VerifyResult

SPECIAL = (
    *("files: anchor lost", "location: quantifier", "location: anchor lost", "rewrite: anchor lost"),
    *("rewrite: NC of a condition", "rewrite: QSA lost", "rewrite: file test", "options: Indexes back"),
    *("language: order", "variable: anchor", "variable: end"),
)
COUNT = 4
"""Mutants of each table; `make verify-live` tries hundreds."""


@pytest.mark.skipif(not APACHE.is_file(), reason="apache2 is not installed")
@pytest.mark.parametrize("kinds", [VISIBLE, WITHOUT_EFFECT], ids=["visible", "without effect"])
def test_verify_agrees_with_apache2(kinds: tuple[Kind, ...]) -> None:
    choose = random.Random(4)
    waiting = [*kinds]
    choose.shuffle(waiting)
    tried: list[Trial] = []
    with live_root() as root:
        site = live_site(root, choose)
        while len(tried) < COUNT:
            one = trial(site, waiting.pop(), choose)
            if one is not None and (one.effect is not None or kinds is WITHOUT_EFFECT):
                tried.append(one)
    assert not [one.record for one in tried if is_wrong(one)]
    assert all(one.is_named for one in tried if one.effect is not None)
    if kinds is WITHOUT_EFFECT:
        assert not [one.record for one in tried if one.effect is not None]


class Everything(random.Random):
    """Chooses all blocks of a site."""

    def sample(self, population: Sequence[Any], _k: int, **_more: Any) -> list[Any]:
        return list(population)


@pytest.mark.skipif(not APACHE.is_file(), reason="apache2 is not installed")
def test_apache_shows_kinds_that_need_a_request_of_their_own() -> None:
    with live_root() as root:
        site = live_site(root, Everything(1))
        hidden = [name for name in SPECIAL if not _is_shown(site, name)]
    assert not hidden


def _is_shown(site: Site, name: str) -> bool:
    (kind,) = [kind for kind in VISIBLE if kind.name == name]
    lines = site.text.split("\n")
    for place in kind.places(lines, lines.index("# site")):
        changed = kind.changed(lines[place])
        assert changed is not None
        seen = site.answers_to("\n".join([*lines[:place], changed, *lines[place + 1 :]]))
        if any(a and a != b for a, b in zip(site.answers, seen, strict=True)):
            return True
    return False


def test_the_tables() -> None:
    assert len(VISIBLE) >= 60
    assert len({kind.name for kind in (*VISIBLE, *WITHOUT_EFFECT)}) == len(VISIBLE) + len(WITHOUT_EFFECT)
    assert len(questions()) > 1500


def test_a_line_is_named_by_its_number() -> None:
    cause = Cause((DecidingLine("a.conf", 7, "Require all granted"),), ())
    result = VerifyResult(("old", "new"))
    result.groups.append(DifferenceGroup("response", cause))
    assert is_line_named(result, 7)
    assert not is_line_named(result, 8)
    assert result.verdict is Verdict.DIFFERENT
