"""Paths without links."""

from __future__ import annotations

import os

from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.static_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import AnyStr


def without_links(path: AnyStr) -> AnyStr:
    """Return *path* without links, as far as they can be read: links of /proc are readable to few.

    `os.path.realpath` raises OSError for those that are not.
    """
    try:
        return os.path.realpath(path)
    except OSError:
        return os.path.abspath(path)


def real_path(path: str) -> str:
    """Return `without_links` of a path in text of one character per byte."""
    return to_text(without_links(to_bytes(path)))
