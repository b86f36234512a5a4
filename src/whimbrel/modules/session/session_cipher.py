"""Encrypted sessions, byte for byte as httpd with apr_crypto's OpenSSL driver writes them.

Base64 of: SipHash-2-4 of the rest (8 bytes, key MD5(passphrase)), salt (16 bytes), initialization vector,
ciphertext (CBC, PKCS #7 padding).  The key is PBKDF2-HMAC-SHA1(passphrase, salt, 4096 rounds).  The ciphers
are the `cryptography` package's, imported on use.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
from typing import TYPE_CHECKING, Final

from whimbrel.base.latin1 import to_bytes

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import BlockCipherAlgorithm, CipherContext

_MAC: Final = 8
_SALT: Final = 16
_ROUNDS: Final = 4096
_MASK: Final = (1 << 64) - 1
# Arguments of SessionCryptoCipher: bytes of the key and of a block.
SIZES: Final = {"aes128": (16, 16), "aes192": (24, 16), "aes256": (32, 16), "3des192": (24, 8)}


class CipherError(Exception):
    """The text cannot be changed; *is_tried*: it is long enough, and no passphrase decrypts it."""

    def __init__(self, reason: str = "wrong passphrase", *, is_tried: bool = False) -> None:
        super().__init__(reason)
        self.is_tried = is_tried


def encrypt(text: bytes, passphrase: str, cipher: str) -> str:
    """Encrypt *text* to a cookie's value; raises CipherError if the cipher is not available."""
    _, block = SIZES[cipher]
    salt = os.urandom(_SALT)
    vector = os.urandom(block)
    pad = block - len(text) % block
    encryptor = _cipher(passphrase, salt, vector, cipher, decrypts=False)
    body = salt + vector + encryptor.update(text + bytes([pad]) * pad) + encryptor.finalize()
    return base64.b64encode(_mac(body, passphrase) + body).decode("ascii")


def decrypt(value: str, passphrases: list[str], cipher: str) -> bytes:
    """Decrypt with one of *passphrases*; raises CipherError if none does."""
    _, block = SIZES[cipher]
    try:
        data = base64.b64decode(to_bytes(value), validate=True)
    except (binascii.Error, ValueError):
        raise CipherError(is_tried=False) from None
    mac = data[:_MAC]
    body = data[_MAC:]
    if len(body) < _SALT + 2 * block:
        raise CipherError(is_tried=False)
    for passphrase in passphrases:
        if hmac.compare_digest(mac, _mac(body, passphrase)):
            text = _decrypted(body, passphrase, cipher, block)
            if text is not None:
                return text
    raise CipherError(is_tried=True)


def _decrypted(body: bytes, passphrase: str, cipher: str, block: int) -> bytes | None:
    salt = body[:_SALT]
    vector = body[_SALT : _SALT + block]
    sealed = body[_SALT + block :]
    if len(sealed) % block:
        return None
    decryptor = _cipher(passphrase, salt, vector, cipher, decrypts=True)
    text = decryptor.update(sealed) + decryptor.finalize()
    pad = text[-1]
    good = 0 < pad <= block and text.endswith(bytes([pad]) * pad)
    return text[:-pad] if good else None


def _cipher(passphrase: str, salt: bytes, vector: bytes, name: str, *, decrypts: bool) -> CipherContext:
    """Return the running cipher; raises CipherError where the package or its OpenSSL lacks it."""
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.ciphers import Cipher
        from cryptography.hazmat.primitives.ciphers.algorithms import AES
        from cryptography.hazmat.primitives.ciphers.modes import CBC
    except ImportError:  # a .htaccess file has the passphrase: no start was refused
        from whimbrel.base.extras import not_installed

        raise CipherError(not_installed("SessionCryptoPassphrase", "session-crypto")) from None
    key = hashlib.pbkdf2_hmac("sha1", to_bytes(passphrase), salt, _ROUNDS, SIZES[name][0])
    algorithm: BlockCipherAlgorithm = AES(key)
    if name == "3des192":
        from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES

        algorithm = TripleDES(key)
    cipher = Cipher(algorithm, CBC(vector))
    try:
        return cipher.decryptor() if decrypts else cipher.encryptor()
    except UnsupportedAlgorithm as problem:
        raise CipherError(str(problem)) from None


def _mac(data: bytes, passphrase: str) -> bytes:
    return siphash(hashlib.md5(to_bytes(passphrase), usedforsecurity=False).digest(), data)


def siphash(key: bytes, data: bytes) -> bytes:
    """Return SipHash-2-4 (Aumasson and Bernstein, 2012) of *data* under a key of 16 bytes."""
    k0 = int.from_bytes(key[:8], "little")
    k1 = int.from_bytes(key[8:], "little")
    state = (
        k0 ^ 0x736F6D6570736575,
        k1 ^ 0x646F72616E646F6D,
        k0 ^ 0x6C7967656E657261,
        k1 ^ 0x7465646279746573,
    )
    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) & 0xFF])
    for start in range(0, len(padded), 8):
        word = int.from_bytes(padded[start : start + 8], "little")
        state = _rounds((state[0], state[1], state[2], state[3] ^ word), 2)
        state = (state[0] ^ word, *state[1:])
    state = _rounds((state[0], state[1], state[2] ^ 0xFF, state[3]), 4)
    return (state[0] ^ state[1] ^ state[2] ^ state[3]).to_bytes(8, "little")


def _rounds(state: tuple[int, int, int, int], count: int) -> tuple[int, int, int, int]:
    a, b, c, d = state
    for _ in range(count):
        a = (a + b) & _MASK
        b = _turned(b, 13) ^ a
        a = _turned(a, 32)
        c = (c + d) & _MASK
        d = _turned(d, 16) ^ c
        a = (a + d) & _MASK
        d = _turned(d, 21) ^ a
        c = (c + b) & _MASK
        b = _turned(b, 17) ^ c
        c = _turned(c, 32)
    return a, b, c, d


def _turned(word: int, by: int) -> int:
    return ((word << by) | (word >> (64 - by))) & _MASK
