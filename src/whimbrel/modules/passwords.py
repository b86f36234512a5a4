"""Passwords against what a password file holds, as APR's apr_password_validate checks them.

Manual: misc/password_encryptions.html.  apr1, SHA-1 and bcrypt are APR's own; everything else is what the system's crypt(3) makes of it
(DES, md5-crypt, sha256-crypt, sha512-crypt, yescrypt ...).  Plain text is not supported on Unix.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from functools import lru_cache
from typing import Any

from whimbrel.octets import raw

_BCRYPT = re.compile(r"\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}", re.ASCII)
_BCRYPT_USES = 72  # bytes of a password
_CRYPT_DATA = 1 << 17  # more than any struct crypt_data


def is_cheap(stored: str) -> bool:
    """Whether checking against *stored* is too quick to be worth a thread."""
    return stored.startswith("{SHA}")


def verify(password: str, stored: str) -> bool:
    """Whether *password* is the one behind *stored*; anything unreadable is a no."""
    if stored.startswith("{SHA}"):
        digest = base64.b64encode(hashlib.sha1(raw(password)).digest()).decode("ascii")
        return hmac.compare_digest(raw(stored[5:]), raw(digest))
    if stored.startswith("$apr1$"):
        return _apr1(password, stored)
    if _BCRYPT.fullmatch(stored):
        return _bcrypt(password, stored)
    return _crypt(password, stored)


def _apr1(password: str, stored: str) -> bool:
    from passlib.hash import apr_md5_crypt

    try:
        return bool(apr_md5_crypt.verify(raw(password), stored))
    except (ValueError, TypeError):
        return False


def _bcrypt(password: str, stored: str) -> bool:
    import bcrypt

    try:
        return bcrypt.checkpw(raw(password)[:_BCRYPT_USES], raw(stored))
    except ValueError:
        return False


def _crypt(password: str, stored: str) -> bool:
    library = _system_crypt()
    if library is None:
        return _crypt_without_library(password, stored)
    import ctypes

    made: bytes | None = library(raw(password), raw(stored), ctypes.create_string_buffer(_CRYPT_DATA))
    return made is not None and hmac.compare_digest(made, raw(stored))


@lru_cache(maxsize=1)
def _system_crypt() -> Any:
    """crypt_r of the C library, or None where there is none."""
    import ctypes
    import ctypes.util

    try:
        found: Any = ctypes.CDLL(ctypes.util.find_library("crypt") or "libcrypt.so.1").crypt_r
    except (OSError, AttributeError):
        return None
    found.restype = ctypes.c_char_p
    found.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p)
    return found


def _crypt_without_library(password: str, stored: str) -> bool:
    from passlib.context import CryptContext

    known = CryptContext(schemes=["sha512_crypt", "sha256_crypt", "md5_crypt", "des_crypt"])
    try:
        return bool(known.verify(raw(password), stored))
    except (ValueError, TypeError):
        return False
