"""Private keys of PEM files: each text is checked once, within bounds; keys with a phrase are never kept."""

from __future__ import annotations

from unittest.mock import patch

import pytest

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from whimbrel.modules.ssl.mod_ssl import key_files
from whimbrel.modules.ssl.mod_ssl.key_files import MAX_CACHED_KEY, MAX_CACHED_KEYS, EncryptedKey, private_key


def pem(phrase: bytes = b"") -> bytes:
    """Return a new key."""
    way = BestAvailableEncryption(phrase) if phrase else NoEncryption()
    return ec.generate_private_key(ec.SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, way)


def test_a_text_is_checked_once_and_another_text_has_its_own_key() -> None:
    one = pem()
    other = pem()
    with patch.object(key_files, "load_pem_private_key", wraps=load_pem_private_key) as loads:
        first = private_key(b"a comment\n" + one)
        assert private_key(one + b"another end") is first
        assert private_key(other) is not first
    assert loads.call_count == 2
    form = (Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    assert first.private_bytes(*form) == one and private_key(other).private_bytes(*form) == other


def test_a_key_with_a_phrase_is_not_kept() -> None:
    text = pem(b"secret")
    before = key_files._plain_key.cache_info().currsize
    assert private_key(text, "secret").private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with pytest.raises(EncryptedKey):
        private_key(text)
    with pytest.raises(EncryptedKey):
        private_key(text, "wrong")
    assert key_files._plain_key.cache_info().currsize == before


def test_keys_are_kept_within_bounds() -> None:
    for _ in range(MAX_CACHED_KEYS + 8):
        private_key(pem())
    assert key_files._plain_key.cache_info().currsize == MAX_CACHED_KEYS
    begin, _line, rest = pem().partition(b"\n")
    key_files._plain_key.cache_clear()
    assert private_key(begin + b"\n" * MAX_CACHED_KEY + rest)
    assert key_files._plain_key.cache_info().currsize == 0
