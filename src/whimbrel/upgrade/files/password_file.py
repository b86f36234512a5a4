"""Password files: entries that 2.4 cannot verify, or only in part.

A line is ``USER:HASH``, or ``USER:REALM:HASH`` for AuthType Digest. Kinds of hashes: programs/htpasswd.html
and misc/password_encryptions.html.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import Final

from whimbrel.base.errors import SourceLocation
from whimbrel.upgrade.model import Finding, Risk


class HashKind(Enum):
    """The kind of a password hash."""

    APR1 = "MD5 as htpasswd makes it"
    BCRYPT = "bcrypt"
    SHA1 = "SHA-1 without salt"
    CRYPT = "crypt of the system"
    DES = "the old crypt, of which only eight characters count"
    DIGEST = "for AuthType Digest"
    UNKNOWN = "none that httpd can verify"


_KINDS: Final = (
    (re.compile(r"\$apr1\$[^$]{1,8}\$[./0-9A-Za-z]{22}"), HashKind.APR1),
    (re.compile(r"\$2[axy]\$[0-9]{2}\$[./0-9A-Za-z]{53}"), HashKind.BCRYPT),
    (re.compile(r"\{SHA\}[+/0-9A-Za-z]{27}="), HashKind.SHA1),
    (re.compile(r"\$(?:1|5|6|7|y|gy|md5|sha1)\$.+"), HashKind.CRYPT),
    (re.compile(r"_[./0-9A-Za-z]{19}"), HashKind.CRYPT),
    (re.compile(r"[./0-9A-Za-z]{13}"), HashKind.DES),
)
_DN: Final = re.compile(r"/?[A-Za-z][A-Za-z0-9.]*=")
"""The begin of a distinguished name, as 2.2 (/C=...) and 2.4 (CN=...) write it."""
_OF_MANUAL: Final = "xxj31ZMTZzkVA"
"""The hash of ``password`` that the manual of mod_ssl gives for FakeBasicAuth."""
_DIGEST: Final = re.compile(r"[^:]*:[0-9a-fA-F]{32}")


def hash_kind(rest: str) -> HashKind:
    """Return the kind of the text after ``USER:``; like httpd, ignore further fields after the hash."""
    if _DIGEST.fullmatch(rest):
        return HashKind.DIGEST
    word = rest.partition(":")[0]
    return next((kind for pattern, kind in _KINDS if pattern.fullmatch(word)), HashKind.UNKNOWN)


def examine(text: str, path: str, *, has_certificates: bool = False) -> Iterator[Finding]:
    """Yield a finding for each entry that no password matches, and one for all entries of the old crypt.

    *text* has one character per byte. *has_certificates*: the server has SSLOptions +FakeBasicAuth, which
    takes the name in a certificate for the user, always with the password ``password``.
    """
    weak: list[int] = []
    fixed: list[int] = []
    seen: set[str] = set()
    for number, line in enumerate(text.split("\n"), 1):
        entry = line.rstrip(" \t\r")
        if not entry or entry.startswith("#"):
            continue
        user, colon, rest = entry.partition(":")
        kind_found = hash_kind(rest) if colon else HashKind.UNKNOWN
        name = f"{user}:{rest.partition(':')[0]}" if kind_found is HashKind.DIGEST else user
        if name in seen:
            yield _finding(
                path,
                number,
                f"an earlier line has the user {user}: the first line counts",
                "remove one of them",
            )
        seen.add(name)
        if kind_found is HashKind.UNKNOWN:
            yield _finding(
                path,
                number,
                f"no password matches the entry of {user}: 2.4 does not know its hash",
                "set it again with htpasswd -B",
            )
        elif kind_found is HashKind.DES:
            is_of_dn = _DN.match(user) is not None
            is_fixed = is_of_dn and (has_certificates or rest.partition(":")[0] == _OF_MANUAL)
            (fixed if is_fixed else weak).append(number)
    if fixed:
        many = f"{len(fixed)} entries are" if len(fixed) > 1 else "one entry is"
        yield _finding(
            path,
            fixed[0],
            f"{many} of the name in a certificate: SSLOptions +FakeBasicAuth sends the password `password` "
            "for it, which must stay",
            "do nothing: the certificate is what protects, and the hash may be of any kind",
        )
    if weak:
        many = f"{len(weak)} entries are" if len(weak) > 1 else "one entry is"
        yield _finding(
            path,
            weak[0],
            f"{many} of the old crypt, the default of htpasswd of 2.2: only eight characters count",
            "let the users set new passwords: htpasswd makes MD5 by default, and with -B bcrypt",
        )


def _finding(path: str, number: int, message: str, advice: str) -> Finding:
    return Finding("C48", SourceLocation(path, number), message, advice, Risk.COSMETIC)
