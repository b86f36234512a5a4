"""Verdicts about random patterns, with PCRE as the judge."""

from __future__ import annotations

import random
import re
from collections import Counter
from itertools import islice

import pytest
from tests.support.samples import amount
from tests.unit.verify.patterns.random_patterns import changed, judge, pattern, with_end, word

from whimbrel.access.patterns.boundaries import boundary_samples
from whimbrel.access.patterns.syntax import Tree, UnknownSyntax, irregular_part
from whimbrel.verify.patterns.languages import Pattern, Relation, compare_patterns

PAIRS = 120
SHORT_HEXADECIMAL = re.compile(r"\\x(?![0-9a-fA-F]{2})")
"""What the binding of PCRE reads as a letter x, as JavaScript does, and httpd as a byte."""
WORDS = 60


def trees_of(patterns: list[Pattern]) -> list[Tree]:
    """Return the trees of the patterns, [] if one of them is beyond the parser."""
    try:
        return [one.tree() for one in patterns]
    except UnknownSyntax:
        return []


def check_pair(chance: random.Random, counts: Counter[Relation]) -> None:
    """Compare a random pattern with a change of it; each verdict is checked with many texts."""
    first = pattern(chance)
    second = changed(chance, first)
    flags = chance.random() < 0.3, chance.random() < 0.3
    searches = [judge(with_end(t), ignore_case=f) for t, f in zip((first, second), flags, strict=True)]
    if searches[0] is None or searches[1] is None or SHORT_HEXADECIMAL.search(second):
        return
    patterns = [Pattern(t, ignore_case=f) for t, f in zip((first, second), flags, strict=True)]
    found = compare_patterns(patterns[0], patterns[1])
    counts[found.relation] += 1
    shown = f"{patterns}: {found}"
    for texts, expected in ((found.first_only, True), (found.second_only, False)):
        for text in texts:
            assert searches[0](text) is expected, shown
            assert searches[1](text) is not expected, shown
    trees = trees_of(patterns)
    if found.relation is Relation.EQUAL:
        texts = [word(chance, first, second) for _ in range(WORDS)]
        for text in (*texts, *islice(boundary_samples(trees), WORDS)):
            assert searches[0](text) is searches[1](text), f"{shown}: {text!r}"
    elif found.relation is Relation.DIFFERENT:
        assert found.samples, shown
        is_regular = len(trees) == 2 and not any(map(irregular_part, trees))
        length = min(map(len, found.samples)) if is_regular else 0
        for _ in range(WORDS):
            text = word(chance, first, second)
            if len(text) < length:  # the sample is a shortest one
                assert searches[0](text) is searches[1](text), f"{shown}: {text!r}"


@pytest.mark.parametrize("seed", range(amount(2, 4)))
def test_verdicts_agree_with_pcre(seed: int) -> None:
    counts: Counter[Relation] = Counter()
    chance = random.Random(seed)
    for _ in range(PAIRS):
        check_pair(chance, counts)
    assert counts[Relation.EQUAL] > 10
    assert counts[Relation.DIFFERENT] > 10
    assert counts[Relation.NOT_DECIDED] < sum(counts.values()) / 8
