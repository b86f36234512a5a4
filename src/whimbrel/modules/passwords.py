"""Passwords against what a password file holds, as APR's apr_password_validate checks them.

Manual: misc/password_encryptions.html.  apr1, SHA-1 and bcrypt are APR's own; everything else is what the system's crypt(3) makes of it
(DES, md5-crypt, sha256-crypt, sha512-crypt, yescrypt ...).  Plain text is not supported on Unix.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re

from whimbrel.octets import raw

_BCRYPT = re.compile(r"\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}", re.ASCII)
_BCRYPT_USES = 72  # bytes of a password


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
    from whimbrel.modules.system_crypt import verify

    return verify(password, stored)
