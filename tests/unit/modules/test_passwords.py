"""Password hashes: every stored form below was made by Debian's htpasswd 2.4 for the password "wonder"."""

from __future__ import annotations

import pytest

from whimbrel.modules.passwords import is_cheap, verify

STORED = {
    "apr1": "$apr1$v7yTVYsW$n/cXnzZa2Md2s1WCns1A./",
    "sha": "{SHA}w3QkzGJswDXW5OKZHAJw0FELjfM=",
    "bcrypt": "$2y$05$PiJfJpD1P0dGwxxVUqptv.xt8Gni6ILEGkSNiosX7dwpx0CWRbBga",
    "sha512": "$6$0zwaSOmVeYBl3Boo$arGCE39tK8Q1k5bG2gI5qhosGbq5P88pM9ae1ZFzj0j1ZHRWJTwZblhGM3l3jEcQLSaSQlIFStwVZS91VIcnS1",
    "sha256": "$5$7AcJWd5jjDk/dd0S$F/3wlp6hYzgUnzU8njE3l7o4Z1ScdQNi7VV2il/LGo2",
    "des": "DBVVbUFhH6aXA",
}


@pytest.mark.parametrize("kind", STORED)
def test_right_and_wrong(kind: str) -> None:
    assert verify("wonder", STORED[kind])
    assert not verify("Wonder", STORED[kind])
    assert not verify("", STORED[kind])


@pytest.mark.parametrize("stored", ["", "x", "wonder", "*", "$apr1$", "$apr1$!!$x", "{SHA}", "$2y$05$short", "$6$", "{SHA}\xe4", "*0"])
def test_garbage_matches_nothing(stored: str) -> None:
    assert not verify("wonder", stored)
    assert not verify("", stored)


def test_bcrypt_looks_at_72_characters() -> None:
    import bcrypt

    long = "x" * 72
    stored = bcrypt.hashpw(long.encode(), bcrypt.gensalt(4, prefix=b"2a")).decode()
    assert verify(long + "y", stored)
    assert not verify("x" * 71, stored)


def test_only_one_round_of_sha1_is_cheap() -> None:
    assert [kind for kind, stored in STORED.items() if is_cheap(stored)] == ["sha"]
