"""Mutants of upgraded recorded configurations are found, and found in both directions."""

from __future__ import annotations

import random

from tests.conformance.cases import packed, read_cases
from tests.support.samples import amount
from tests.verify.mutations import OPERATORS
from tests.verify.run import shuffled
from tests.verify.upgraded import is_found, is_usable, mutants, upgraded_site

COUNT = amount(4, 8)


def test_mutants_are_found() -> None:
    """Some mutants of random cases; `make verify` tries 200."""
    choose, missed, sent_count = random.Random(3), [], 0
    for case in shuffled(["core-rewrite", "config-vhost", "core-headers"], choose):
        with upgraded_site(case) as site:
            for mutant in mutants(site, choose, 2, sent_count):
                sent_count += 1
                if not is_found(site, mutant) or not is_found(site, mutant, mirrored=True):
                    missed.append((case.id, mutant.operator, mutant.effect.record))
        if sent_count >= COUNT:
            break
    assert sent_count >= COUNT
    assert len(missed) <= 1, missed  # one of 200 may be missed, and the sample may contain it


def test_every_operator_changes_a_text() -> None:
    """Each operator has something to do in the recorded configurations."""
    choose = random.Random(1)
    texts = [case.conf for case in read_cases(packed("authz-targeted", "core-*"), "2.2") if is_usable(case)]
    for operator in OPERATORS:
        assert any(operator(text.split("\n"), choose) for text in texts), operator.__name__
