"""Digests of the files that an upgrade has read, by which later changes are found.

A file has two: that of its bytes, and that of its lines without comments and empty lines, which is the same
before and after a comment that records a decision.
"""

from __future__ import annotations

import hashlib
from typing import Final, NamedTuple

_BLANKS: Final = b" \t\r\n\v\f"


class FileDigests(NamedTuple):
    """The digests (SHA-256, hexadecimal) of a file: of its bytes, and of its lines without comments."""

    data: str
    lines: str

    @classmethod
    def of(cls, data: bytes) -> FileDigests:
        """Return the digests of the contents *data*."""
        return cls(digest(data), digest(without_comments(data)))


def digest(data: bytes) -> str:
    """Return the SHA-256 of *data* in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def without_comments(data: bytes) -> bytes:
    """Return the lines of *data* that httpd reads as directives: those that a backslash continues are one
    line, as httpd joins them before it looks for a comment.
    """
    directives = []
    waiting = list[bytes]()
    for line in data.split(b"\n"):
        waiting.append(line.rstrip(b"\r"))
        if waiting[-1].endswith(b"\\"):
            continue
        joined = b"\n".join(waiting).strip(_BLANKS)
        waiting.clear()
        if joined and not joined.startswith(b"#"):
            directives.append(joined)
    return b"\n".join((*directives, *waiting))
