"""Paths without links."""

from __future__ import annotations

import os
from typing import AnyStr


def without_links(path: AnyStr) -> AnyStr:
    """Return *path* without links, as far as they can be read: links of /proc are readable to few.

    `os.path.realpath` raises OSError for those that are not.
    """
    try:
        return os.path.realpath(path)
    except OSError:
        return os.path.abspath(path)
