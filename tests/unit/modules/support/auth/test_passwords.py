"""Password hashes: every stored form below was made by Debian's htpasswd 2.4 for the password "wonder"."""

from __future__ import annotations

import pytest

from whimbrel.modules.support.auth.passwords import is_cheap, verify

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


@pytest.mark.parametrize(
    ("password", "stored"),
    [
        ("", "$apr1$x$tMwYqBfQwi3FYAr0aJc8M/"),
        ("", "$apr1$salt$AnXM5PAEa9T4ruYbwPoUh/"),
        ("seventeen letters", "$apr1$abc$LtshHA2MDb7XrGyDBzj9F."),
        (
            "a password that is much longer than sixteen, thirty-two and forty-eight bytes",
            "$apr1$12345678$lEkDxNocTrMnNRNdLSu1A1",
        ),
    ],
)
def test_apr1_of_all_lengths(password: str, stored: str) -> None:
    """As ``openssl passwd -apr1`` makes them."""
    assert verify(password, stored)
    assert not verify(f"{password}\0", stored)
    assert not verify(password, stored[:-1])
    assert not verify(password, f"{stored}x")


@pytest.mark.parametrize(
    "stored",
    [
        "",
        "x",
        "wonder",
        "*",
        "$apr1$",
        "$apr1$!!$x",
        "$apr1$\xe4$\xe4",
        "{SHA}",
        "$2y$05$short",
        "$6$",
        "{SHA}\xe4",
        "*0",
    ],
)
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
