"""Password hashes: every stored form below was made by Debian's htpasswd 2.4 for the password "wonder"."""

from __future__ import annotations

import pytest
from tests.support.password_hashes import HASHES

from whimbrel.modules.support.auth.passwords import is_cheap, verify


@pytest.mark.parametrize("kind", HASHES)
def test_right_and_wrong(kind: str) -> None:
    assert verify("wonder", HASHES[kind])
    assert not verify("Wonder", HASHES[kind])
    assert not verify("", HASHES[kind])


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
    """Hashes made by ``openssl passwd -apr1``."""
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
    assert [kind for kind, stored in HASHES.items() if is_cheap(stored)] == ["sha"]
