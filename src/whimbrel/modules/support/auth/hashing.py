"""Password hashes for password files. Manual: programs/htpasswd.html, misc/password_encryptions.html."""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import Callable
from typing import Final

from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass

ALPHABET: Final = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
PLAIN_WARNING: Final = "Warning: storing passwords as plain text might just not work on this platform.\n"
CUT_WARNING: Final = "Warning: Password truncated to 8 characters by CRYPT algorithm.\n"
IGNORED_WARNING: Final = "Warning: Ignoring -C/-r argument for this algorithm.\n"
BCRYPT_COSTS: Final = range(4, 18)
BCRYPT_COST: Final = 5
ROUNDS: Final = range(1000, 1_000_000_000)
_MAX_CRYPT_BYTES: Final = 8
_MAX_BCRYPT_BYTES: Final = 72
_STANDARD_ROUNDS: Final = 5000


class HashError(Exception):
    """The algorithm refuses this cost; the text is httpd's, without the program's name."""


@dataclass(frozen=True, slots=True)
class HashResult:
    """The hash to store, and a warning for standard error."""

    stored: str
    warning: str = ""


def hash_password(password: str, algorithm: str, cost: int) -> HashResult:
    """Hash *password* by the algorithm of htpasswd's option letter (m s d p B 2 5); *cost* is 0 if none is
    given, and applies to B, 2 and 5 (see `cost_warning`).  Raises HashError.
    """
    makers: dict[str, Callable[[str, int], HashResult]] = {
        "m": _apr1,
        "s": _sha1,
        "d": _crypt,
        "p": _plain,
        "B": _bcrypt,
        "2": _sha256,
        "5": _sha512,
    }
    return makers[algorithm](password, cost)


def cost_warning(algorithm: str, cost: int) -> str:
    """Return the warning about a cost that the algorithm ignores, or nothing."""
    return IGNORED_WARNING if cost and algorithm not in "B25" else ""


def salt(length: int) -> str:
    """Return random characters of crypt's alphabet."""
    return "".join(secrets.choice(ALPHABET) for _ in range(length))


def _plain(password: str, cost: int) -> HashResult:
    return HashResult(password)


def _sha1(password: str, cost: int) -> HashResult:
    return HashResult("{SHA}" + base64.b64encode(hashlib.sha1(to_bytes(password)).digest()).decode("ascii"))


def _apr1(password: str, cost: int) -> HashResult:
    from passlib.hash import apr_md5_crypt

    return HashResult(str(apr_md5_crypt.using(salt=salt(8)).hash(to_bytes(password))))


def _crypt(password: str, cost: int) -> HashResult:
    from passlib.hash import des_crypt

    stored = str(des_crypt.using(salt=salt(2)).hash(to_bytes(password)[:_MAX_CRYPT_BYTES]))
    return HashResult(stored, CUT_WARNING if len(password) > _MAX_CRYPT_BYTES else "")


def _bcrypt(password: str, cost: int) -> HashResult:
    import bcrypt

    cost = cost or BCRYPT_COST
    if cost not in BCRYPT_COSTS:
        raise HashError("Unable to encode with bcrypt: Invalid argument")
    digest = bcrypt.hashpw(to_bytes(password)[:_MAX_BCRYPT_BYTES], bcrypt.gensalt(cost, b"2b"))
    return HashResult("$2y$" + to_text(digest)[4:])


def _sha256(password: str, cost: int) -> HashResult:
    from passlib.hash import sha256_crypt

    return _sha2(sha256_crypt, "$5$", password, cost)


def _sha512(password: str, cost: int) -> HashResult:
    from passlib.hash import sha512_crypt

    return _sha2(sha512_crypt, "$6$", password, cost)


def _sha2(handler: object, prefix: str, password: str, cost: int) -> HashResult:
    """Hash with crypt(3); for a refused number of rounds it returns `*0`, which the tool stores."""
    if cost and cost not in ROUNDS:
        return HashResult("*0")
    using = handler.using(salt=salt(16), rounds=cost or _STANDARD_ROUNDS)  # type: ignore[attr-defined]
    digest = str(using.hash(to_bytes(password))).removeprefix(prefix).rpartition("rounds=")[2]
    if digest.startswith(f"{cost or _STANDARD_ROUNDS}$"):
        digest = digest.partition("$")[2]
    return HashResult(prefix + (f"rounds={cost}$" if cost else "") + digest)
