"""No pair of texts that differ by words of one line is called *same*; the line is named.

Each twelfth pair is compared, in a nightly run each fourth, and each pair of which other words have an
effect; WHIMBREL_CASES=N takes all.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.samples import amount
from tests.unit.verify.sites import make_root, side
from tests.verify.word_pairs import FILES, WordPair, word_pairs
from whimbrel.catalogue.load import catalogue
from whimbrel.verify.config_lines import ConfigLine, LineScope
from whimbrel.verify.coverage.decided_by import DecidedBy, decided_by
from whimbrel.verify.verification import Verdict
from whimbrel.verify.verify import verify

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from tests.support.ocsp import Certificate

EVERY = amount(12, 4)
IS_EFFECTIVE = frozenset(("ht", "doc", "docmv", "doclist", "echo", "echo2", "status"))
"""Lines around pairs of which requests show other words than the changed one."""
PAIRS = [
    pair
    for number, pair in enumerate(word_pairs())
    if "WHIMBREL_CASES" in os.environ or number % EVERY == 0 or pair.around in IS_EFFECTIVE
]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("words")
    make_root(root, FILES)
    for name in ("server", "other", "ca", "other-ca"):
        certificate = Certificate(name)
        (root / f"conf/{name}.pem").write_bytes(certificate.pem + certificate.key_pem)
    return root


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_another_word_is_not_the_same(root: Path, pair: WordPair) -> None:
    sides = [
        side(root, name, text, "2.4", *pair.modules) for name, text in zip("ab", pair.texts, strict=True)
    ]
    for one in sides:
        assert one.is_loaded, one.errors[0].text
    result = verify(*sides, limit=1000)
    assert result.verdict in (Verdict.DIFFERENT, Verdict.NOT_DECIDED)
    named = [one.reason for one in result.not_decided]
    named += [str(line) for group in result.groups for line in (*group.cause.old, *group.cause.new)]
    is_named = any(f"{root}/conf/" in text or pair.old in text for text in named)
    assert is_named, "neither a line of the texts nor its words are named"


def test_the_pairs_cover_the_catalogue() -> None:
    """Two of three directives with an influence on answers have a pair."""
    scope = LineScope("server", "", "", 0)
    names = {
        row.name.lower()
        for row in catalogue("2.4")
        if not row.name.startswith("<")
        and decided_by(ConfigLine(row.name.lower(), "", "", 1, scope)) is not DecidedBy.NOTHING
    }
    tried = {pair.directive.lower() for pair in word_pairs()}
    assert len(names & tried) / len(names) > 0.65
