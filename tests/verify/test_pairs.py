"""No pair of texts that opens a server is called *same*; no pair without effect is called different."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.samples import some
from tests.unit.verify.sites import make_root, side
from tests.verify.pairs import MODULES, OPENING, WITHOUT_EFFECT
from whimbrel.verify.verification import Verdict, VerifyResult
from whimbrel.verify.verify import verify

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from tests.support.ocsp import Certificate

NOT_DECIDED = frozenset(("moved into a host",))
"""Pairs without effect whose lines no request depends on: that is said."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pairs")
    make_root(root)
    for name in ("server", "ca", "other-ca"):
        certificate = Certificate(name)
        (root / f"conf/{name}.pem").write_bytes(certificate.pem + certificate.key_pem)
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


@pytest.mark.parametrize("name", some([*WITHOUT_EFFECT], 12))
def test_what_has_no_effect_is_not_different(root: Path, name: str) -> None:
    expected = Verdict.NOT_DECIDED if name in NOT_DECIDED else Verdict.SAME
    assert compared(root, WITHOUT_EFFECT[name]).verdict is expected
