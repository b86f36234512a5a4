"""Encrypted sessions of cookies: CipherError alone; a sealed text is opened with its passphrase."""

from __future__ import annotations

import base64
from collections.abc import Sequence

import pytest

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from whimbrel.modules.session.session_cipher import SIZES, CipherError, decrypt, encrypt, siphash

COVERED = ("modules/session/session_cipher.py",)
TOKENS = (b"=", b"==", b"AAAA", b"+/", b"\n")
CIPHERS = tuple(sorted(SIZES))
CHANGED = 60
LENGTH = 40  # bytes of the longest text


def seeds() -> Sequence[bytes]:
    sealed = [encrypt(b"a=b&expiry=1", "secret", name).encode() for name in CIPHERS]
    return [bytes([number]) + text for number, text in enumerate(sealed)] + [
        b"\0short",
        b"\0" + base64.b64encode(bytes(90)),
    ]


def run(data: bytes) -> None:
    name = CIPHERS[data[0] % len(CIPHERS) if data else 0]
    text = data[1:]
    for value in (text.decode("latin-1"), base64.b64encode(_signed(text)).decode()):
        try:
            decrypt(value, ["other", "secret"], name)
        except CipherError:
            continue
    assert decrypt(encrypt(text[:LENGTH], "secret", name), ["other", "secret"], name) == text[:LENGTH]


def _signed(body: bytes) -> bytes:
    """Return *body* behind its code, so that it is decrypted."""
    import hashlib

    return siphash(hashlib.md5(b"secret", usedforsecurity=False).digest(), body) + body
