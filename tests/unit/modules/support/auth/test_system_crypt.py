"""crypt(3), by the system's library and without it."""

from __future__ import annotations

import pytest
from tests.support.password_hashes import HASHES

from whimbrel.modules.support.auth.system_crypt import verifier, verify


@pytest.mark.parametrize("kind", ["sha512", "sha256", "des"])
@pytest.mark.parametrize("way", [verify, verifier(None)])
def test_right_and_wrong(kind: str, way: object) -> None:
    assert callable(way)
    assert way("wonder", HASHES[kind])
    assert not way("Wonder", HASHES[kind])


@pytest.mark.parametrize("stored", ["", "x", "*0", "$6$", "$1$", "\xe4\xe4\xe4"])
def test_garbage_matches_nothing(stored: str) -> None:
    assert not verify("wonder", stored)
    assert not verifier(None)("wonder", stored)
