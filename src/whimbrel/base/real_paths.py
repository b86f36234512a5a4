"""Paths without links."""

from __future__ import annotations

import os

from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.static_typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing import AnyStr

MAX_RESOLVED: Final = 200_000
"""Paths of which `RealPaths` keeps the one without links."""


def without_links(path: AnyStr) -> AnyStr:
    """Return *path* without links, as far as they can be read: links of /proc are readable to few.

    `os.path.realpath` raises OSError for those that are not.
    """
    try:
        return os.path.realpath(path)
    except OSError:
        return os.path.abspath(path)


class RealPaths:
    """Paths without links, as they were on first use; a directory is resolved once for all names in it.

    Key: a path, or a directory above one. Value: `real_path` of it. Valid for one reading, as links may
    change. Bound: MAX_RESOLVED; paths beyond it are resolved each time.
    """

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def of(self, path: str) -> str:
        """Return the same as `real_path`."""
        known = self._known.get(path)
        if known is None:
            known = self._resolved(path)
            if len(self._known) < MAX_RESOLVED:
                self._known[path] = known
        return known

    def _resolved(self, path: str) -> str:
        directory, slash, name = path.rpartition("/")
        if not slash or name in ("", ".", ".."):
            return real_path(path)
        joined = f"{self.of(directory).rstrip('/') if directory else ''}/{name}"
        return real_path(joined) if os.path.islink(to_bytes(joined)) else joined


def real_path(path: str) -> str:
    """Return `without_links` of a path in text of one character per byte."""
    return to_text(without_links(to_bytes(path)))
