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
_DIGEST: Final = re.compile(r"[^:]*:[0-9a-fA-F]{32}")


def hash_kind(rest: str) -> HashKind:
    """Return the kind of the text after ``USER:``; like httpd, ignore further fields after the hash."""
    if _DIGEST.fullmatch(rest):
        return HashKind.DIGEST
    word = rest.partition(":")[0]
    return next((kind for pattern, kind in _KINDS if pattern.fullmatch(word)), HashKind.UNKNOWN)


def examine(text: str, path: str) -> Iterator[Finding]:
    """Yield a finding for each entry that no password matches, and one for all entries of the old crypt.

    *text* has one character per byte.
    """
    weak: list[int] = []
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
            weak.append(number)
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
