"""crypt(3) of the system, loaded on import: a server imports this before chroot.

Without the library, the hashes that passlib computes itself are supported.
"""

from __future__ import annotations

import ctypes
import hmac
from collections.abc import Callable
from typing import Any, Final

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.programs import require_programs

_NAMES: Final = (
    "libcrypt.so.1",
    "libcrypt.so.2",
)  # glibc and libxcrypt with the old interface; libxcrypt without it
_CRYPT_DATA: Final = 1 << 17  # more than any struct crypt_data


def _of_the_system() -> Any:
    """Return crypt_r, or None."""
    for name in (*_NAMES, None):
        try:
            function: Any = ctypes.CDLL(name or _searched()).crypt_r
        except (OSError, AttributeError):
            continue
        function.restype = ctypes.c_char_p
        function.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p)
        return function
    return None


def _searched() -> str | None:
    from ctypes.util import find_library  # it runs other programs

    require_programs()
    return find_library("crypt")


def _without_library() -> Callable[[str, str], bool]:
    import passlib.handlers.des_crypt
    import passlib.handlers.md5_crypt
    import passlib.handlers.sha2_crypt  # noqa: F401  # what a context would import at its first use
    from passlib.context import CryptContext

    known = CryptContext(schemes=["sha512_crypt", "sha256_crypt", "md5_crypt", "des_crypt"])

    def verify(password: str, stored: str) -> bool:
        try:
            return bool(known.verify(to_bytes(password), stored))
        except (ValueError, TypeError):
            return False

    return verify


def _with_library(crypt_r: Any) -> Callable[[str, str], bool]:
    def verify(password: str, stored: str) -> bool:
        crypted: bytes | None = crypt_r(
            to_bytes(password), to_bytes(stored), ctypes.create_string_buffer(_CRYPT_DATA)
        )
        return crypted is not None and hmac.compare_digest(crypted, to_bytes(stored))

    return verify


def verifier(crypt_r: object) -> Callable[[str, str], bool]:
    """Return a function that compares a password with a hash of crypt(3); *crypt_r* None: no library."""
    return _without_library() if crypt_r is None else _with_library(crypt_r)


verify: Final = verifier(_of_the_system())
