"""Mistakes in upgraded files that apache2 shows are found by verify with their line; changes without effect
are the same."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.corpus.httpd_check import needs_apache
from tests.support.samples import amount

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from tests.verify.upgraded_kinds import VISIBLE, WITHOUT_EFFECT, FileKind
from tests.verify.upgraded_run import FILES, back_end, is_wrong, live_directory, origins, trial, upgraded_site
from tests.verify.upgraded_site import BLOCKS, TEXTS, Ports, site_texts

COUNT = amount(4, 12)
"""Mistakes and changes without effect; `make verify-upgraded` tries hundreds."""


class Everything(random.Random):
    """Chooses all blocks and hosts of a site."""

    def random(self) -> float:
        return 0.0


@needs_apache
@pytest.mark.parametrize("is_between", [True, False], ids=["of 2.2", "of 2.4"])
def test_verify_agrees_with_apache2(is_between: bool) -> None:
    choose = random.Random(8)
    waiting = choose.sample([*VISIBLE, *WITHOUT_EFFECT], len(VISIBLE) + len(WITHOUT_EFFECT))
    tried = []
    with back_end() as port, live_directory() as base:
        site = upgraded_site(base, port, choose, is_between=is_between)
        while len(tried) < COUNT:
            one = trial(site, waiting.pop(), choose, is_between=is_between)
            if one is not None:
                tried.append(one)
    assert not [one.record for one in tried if is_wrong(one)]
    assert not [one.record for one in tried if one.effect and not one.is_named]


def test_each_kind_applies_to_a_site_with_all_blocks(tmp_path: Path) -> None:
    texts = {**TEXTS, **upgraded_texts(tmp_path)}
    unused = [kind.name for kind in (*VISIBLE, *WITHOUT_EFFECT) if not applies(kind, texts)]
    assert not unused


def upgraded_texts(root: Path) -> dict[str, str]:
    """Return the upgraded texts of a site with all blocks."""
    from tests.verify.upgraded_run import upgraded_copy

    return upgraded_copy(root, Ports(1, 2, 3), Everything(), is_between=False)[0]


def applies(kind: FileKind, texts: dict[str, str]) -> bool:
    """Return True if the kind changes a file."""
    for name in kind.files:
        lines = texts[name].split("\n")
        if kind.change(lines, random.Random(0)) is not None and "\n".join(lines) != texts[name]:
            return True
    return False


def test_the_tables() -> None:
    assert len({kind.name for kind in VISIBLE}) == len(VISIBLE) >= 120
    assert {name for kind in (*VISIBLE, *WITHOUT_EFFECT) for name in kind.files} <= set(FILES)
    texts, asked = site_texts(Path("/srv"), Ports(1, 2, 3), Everything())
    assert len(asked) > 300 and all(block.text.split("\n")[0] for block in BLOCKS)
    assert all("@" not in text.replace("@ROOT@", "") for text in texts.values())


def test_origins_of_lines() -> None:
    old = ["a", "Order allow,deny", "Allow from all", "b"]
    found = origins(old, ["a", "Require all granted", "b"])
    assert found == {1: frozenset({1}), 2: frozenset({2, 3}), 3: frozenset({4})}
