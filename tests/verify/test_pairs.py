"""No pair of texts that opens a server is called *same*; no pair without effect is called different."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.unit.verify.sites import make_root, side
from tests.verify.pairs import MODULES, OPENING, WITHOUT_EFFECT

from whimbrel.verify.verification import Verdict, VerifyResult
from whimbrel.verify.verify import verify

MAX_NOT_DECIDED = 2
"""Pairs without effect that may be not decided."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, certificate: tuple[str, str]) -> Path:
    root = tmp_path_factory.mktemp("pairs")
    make_root(root)
    (root / "conf/server.pem").write_text("".join(certificate))
    (root / "conf/ca.pem").write_text(certificate[0])
    (root / "conf/other-ca.pem").write_text(certificate[0] + "# another\n" + certificate[0])
    return root


def compared(root: Path, pair: tuple[str, str]) -> VerifyResult:
    sides = [side(root, name, text, "2.4", *MODULES) for name, text in zip("ab", pair, strict=True)]
    for one in sides:
        assert one.is_loaded, one.errors[0].text
    return verify(*sides, limit=3000)


@pytest.mark.parametrize("name", OPENING)
def test_what_opens_a_server_is_not_the_same(root: Path, name: str) -> None:
    result = compared(root, OPENING[name])
    assert result.verdict in (Verdict.DIFFERENT, Verdict.NOT_DECIDED)
    named = [one.reason for one in result.not_decided]
    named += [str(line) for group in result.groups for line in (*group.cause.old, *group.cause.new)]
    assert any(f"{root}/conf/" in text for text in named), "no line of the texts is named"


@pytest.mark.parametrize("name", WITHOUT_EFFECT)
def test_what_has_no_effect_is_not_different(root: Path, name: str) -> None:
    result = compared(root, WITHOUT_EFFECT[name])
    assert result.verdict in (Verdict.SAME, Verdict.NOT_DECIDED), result.groups


def test_few_changes_without_effect_are_not_decided(root: Path) -> None:
    verdicts = Counter({name: compared(root, pair).verdict.value for name, pair in WITHOUT_EFFECT.items()})
    undecided = [name for name, verdict in verdicts.items() if verdict == Verdict.NOT_DECIDED.value]
    assert len(undecided) <= MAX_NOT_DECIDED, undecided
