"""Encrypted sessions: cookies of the installed httpd, and the published vector of SipHash."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from whimbrel.modules.session.session_cipher import CipherError, decrypt, encrypt, siphash

NEEDED = pytest.mark.skipif(
    find_spec("cryptography") is None, reason="the extra session-crypto is not installed"
)

# cipher, passphrase, cookie of httpd 2.4.71, decrypted text
MADE = [
    (
        "aes256",
        "secret",
        "b9INPjq8nE3VOH+F/T1IAL0LZ3bbUYZRs6t8WrWFEizeZvHe4N9L9uvxVpXEQUYvc0jo9a/yX+iFvI3CD00D9pX35s2TstZl",
        b"expiry=1795273103734583&k=v",
    ),
    (
        "aes128",
        "other",
        "7P2OVuTcw1+JS1vnP45C54N2BE1l36FDJnW3Kqtv3wOGy2VDlvGtVmzNE6PS5HaVDd6ycZmMAuj99b2UebW5eNB2Dc393zBO",
        b"expiry=1795273103756479&k=v",
    ),
    (
        "aes192",
        "sekret",
        "G3wvAPWA4T8ySAylTi5O0q6Mql766QyAgXMDCegxvaUx1qRTxHznSmZlKivxYjG/HUaoeMm1Re6DP8YSuxOjN6v8ffVF9RgO",
        b"expiry=1795273103804268&k=v",
    ),
    (
        "3des192",
        "secret",
        "OFEfgNVhTyWy4MNZm8xKHqZZqgOUnUpCH+m3Br3M3sBASdjvTanNdsXU3UtBh0Qgzyjj8w9TXDOpZMpabwogdA==",
        b"expiry=1795273103781264&k=v",
    ),
]
AES256 = MADE[0][2]


def test_siphash_as_published() -> None:
    assert siphash(bytes(range(16)), bytes(range(15))).hex() == "e545be4961ca29a1"


@NEEDED
@pytest.mark.parametrize(("cipher", "passphrase", "cookie", "text"), MADE)
def test_cookies_of_httpd(cipher: str, passphrase: str, cookie: str, text: bytes) -> None:
    assert decrypt(cookie, ["no", passphrase], cipher) == text


@NEEDED
@pytest.mark.parametrize("text", [b"a=b", b"x" * 15, b"x" * 16, b"x" * 500])
def test_what_is_sealed_is_opened(text: bytes) -> None:
    sealed = [encrypt(text, "p\xe9", "aes256") for _ in range(2)]
    assert sealed[0] != sealed[1] and [decrypt(one, ["p\xe9"], "aes256") for one in sealed] == [text, text]


@pytest.mark.parametrize(
    "cookie",
    [
        "",
        "garbage",
        "k=v",
        AES256[:-8],
        AES256[:40],
        "AAAA" + AES256[4:],
        AES256[:-4] + "AAAA",
        AES256 + "AAAA",
    ],
)
def test_anything_else_stays_shut(cookie: str) -> None:
    with pytest.raises(CipherError):
        decrypt(cookie, ["secret"], "aes256")


@pytest.mark.parametrize("cipher", ["aes128", "aes192", "3des192"])
def test_another_cipher_does_not_open(cipher: str) -> None:
    with pytest.raises(CipherError):
        decrypt(AES256, ["other"], cipher)
