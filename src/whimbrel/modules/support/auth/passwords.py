"""Passwords compared with the hashes of a password file, as APR's apr_password_validate does.

Manual: misc/password_encryptions.html.  apr1, SHA-1 and bcrypt are APR's own; every other hash is passed to
the system's crypt(3) (DES, md5-crypt, sha256-crypt, sha512-crypt, yescrypt ...).  Plain text is not supported
on Unix.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re

from whimbrel.base.latin1 import to_bytes

_BCRYPT = re.compile(r"\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}", re.ASCII)
_BCRYPT_USES = 72  # bytes of a password
_APR1 = "$apr1$"
_DIGITS = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ORDER = (
    (0, 6, 12),
    (1, 7, 13),
    (2, 8, 14),
    (3, 9, 15),
    (4, 10, 5),
)  # bytes of the digest that are encoded as four characters


def is_cheap(stored: str) -> bool:
    """Return True if checking against *stored* is faster than handing it to a thread."""
    return stored.startswith("{SHA}")


def verify(password: str, stored: str) -> bool:
    """Return True if *password* matches *stored*; a hash that cannot be parsed never matches."""
    if stored.startswith("{SHA}"):
        digest = base64.b64encode(hashlib.sha1(to_bytes(password)).digest()).decode("ascii")
        return hmac.compare_digest(to_bytes(stored[5:]), to_bytes(digest))
    if stored.startswith(_APR1):
        return _apr1(password, stored)
    if _BCRYPT.fullmatch(stored):
        return _bcrypt(password, stored)
    return _crypt(password, stored)


def _apr1(password: str, stored: str) -> bool:
    salt = stored[len(_APR1) :].partition("$")[0][:8]
    return "\0" not in password and hmac.compare_digest(
        to_bytes(stored), to_bytes(f"{_APR1}{salt}$") + apr1(to_bytes(password), to_bytes(salt))
    )


def apr1(password: bytes, salt: bytes) -> bytes:
    """Return the 22 characters of APR's variant of md5-crypt."""
    md5 = hashlib.md5
    length = len(password)
    start = (
        password
        + to_bytes(_APR1)
        + salt
        + (md5(password + salt + password).digest() * (length // 16 + 1))[:length]
    )
    while length:
        start += b"\0" if length & 1 else password[:1]
        length >>= 1
    digest = md5(start).digest()
    # 1,000 rounds, an even and an odd one at a time: the input next to the digest repeats after 42.
    mixed = [(salt if n % 3 else b"") + (password if n % 7 else b"") for n in range(42)]
    pairs = [(mixed[n] + password, password + mixed[n + 1]) for n in range(0, 42, 2)]
    for after, before in (pairs * 24)[:500]:
        digest = md5(before + md5(digest + after).digest()).digest()
    triples = [int.from_bytes(bytes([digest[n] for n in three]), "big") for three in _ORDER]
    return bytes(
        [_DIGITS[bits >> at & 63] for bits in triples for at in (0, 6, 12, 18)]
        + [_DIGITS[digest[11] & 63], _DIGITS[digest[11] >> 6]]
    )


def _bcrypt(password: str, stored: str) -> bool:
    import bcrypt

    try:
        return bcrypt.checkpw(to_bytes(password)[:_BCRYPT_USES], to_bytes(stored))
    except ValueError:
        return False


def _crypt(password: str, stored: str) -> bool:
    from whimbrel.modules.support.auth.system_crypt import verify

    return verify(password, stored)
