"""Texts of 2.2 and 2.4: no change is called *same*, and what has no effect is not called different."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.samples import some
from tests.unit.verify.sites import make_root, side
from tests.verify.pairs import MODULES
from tests.verify.version_pairs import BASE_22, BASE_24, CHANGES, MODULES_22, SAME
from whimbrel.verify.verification import Verdict, VerifyResult
from whimbrel.verify.verify import verify

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from tests.support.ocsp import Certificate

NOT_DECIDED: frozenset[str] = frozenset()
"""Pairs without effect whose lines nothing exercises: that is said."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("versions")
    make_root(root, {"conf/a.inc": "Header set X-A 1\nKeepAlive Off\n", "conf/others": "carol:x\n"})
    for name in ("server", "ca", "other-ca"):
        certificate = Certificate(name)
        (root / f"conf/{name}.pem").write_bytes(certificate.pem + certificate.key_pem)
    (root / "conf/list.pem").write_bytes(Certificate("ca").pem)
    return root


def compared(root: Path, pair: tuple[str, str]) -> VerifyResult:
    old = side(root, "old", BASE_22 + pair[0], "2.2", "version", *MODULES_22)
    new = side(root, "new", BASE_24 + pair[1], "2.4", "version", *MODULES)
    for one in (old, new):
        assert one.is_loaded, one.errors[0].text
    return verify(old, new, limit=1000)


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_not_the_same(root: Path, name: str) -> None:
    result = compared(root, CHANGES[name])
    assert result.verdict in (Verdict.DIFFERENT, Verdict.NOT_DECIDED)
    named = [one.reason for one in result.not_decided]
    named += [str(line) for group in result.groups for line in (*group.cause.old, *group.cause.new)]
    assert any(f"{root}/conf/" in text for text in named), "no line of the texts is named"


@pytest.mark.parametrize("name", some([*SAME], 15))
def test_what_has_no_effect_is_not_different(root: Path, name: str) -> None:
    result = compared(root, SAME[name])
    found = [str(group.examples[0].difference) for group in result.groups]
    found += [one.reason for one in result.not_decided]
    assert (result.verdict is Verdict.SAME) != (name in NOT_DECIDED), found
    assert result.verdict is not Verdict.DIFFERENT, found


def test_few_pairs_are_not_decided() -> None:
    assert len(NOT_DECIDED) <= 2
    assert min(len(CHANGES), len(SAME)) >= 40
