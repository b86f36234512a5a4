"""Text with one character per byte.

httpd works on bytes: a configuration, a header or a path may contain any.  Whimbrel represents them as `str`
in which each character is one byte (latin-1), so output equals input and regular expressions match what
httpd's match.
"""

from __future__ import annotations

import os


def to_text(data: bytes | bytearray) -> str:
    """Return the bytes as text, one character each."""
    return data.decode("latin-1")


def to_bytes(value: str) -> bytes:
    """Return the bytes of *value*; raise UnicodeEncodeError if it has characters above 255."""
    return value.encode("latin-1")


def from_system(value: str) -> str:
    """Return an argument or environment value, as Python decodes it, in one character per byte."""
    return os.fsencode(value).decode("latin-1")


def to_system(value: str) -> str:
    """Return *value* as argv, environ and print expect it: the inverse of `from_system`."""
    return os.fsdecode(value.encode("latin-1"))
