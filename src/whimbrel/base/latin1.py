"""Text with one character per byte.

httpd works on bytes: a configuration, a header or a path may hold any.  Whimbrel keeps them all as `str` in
which every character stands for one byte (latin-1), so that what goes in comes out and regular expressions
see what httpd's see.
"""

from __future__ import annotations

import os


def to_text(data: bytes | bytearray) -> str:
    """Return the bytes as text, one character each."""
    return data.decode("latin-1")


def to_bytes(value: str) -> bytes:
    """Return the bytes that *value* stands for; raises UnicodeEncodeError when it never came from bytes."""
    return value.encode("latin-1")


def from_system(value: str) -> str:
    """Return an argument or environment value, as Python decodes it from the system, in one character per
    byte.
    """
    return os.fsencode(value).decode("latin-1")


def to_system(value: str) -> str:
    """Return the inverse of `from_system`: what Python's own interfaces (argv, environ, print) expect."""
    return os.fsdecode(value.encode("latin-1"))
