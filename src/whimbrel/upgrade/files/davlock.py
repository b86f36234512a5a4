"""Lock databases of mod_dav_fs: the version that wrote them.

They are SDBM files. 2.2 stores the locks of existing resources by inode and device (first byte 10), those of
missing resources by name (first byte 11); 2.4 always uses the name.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes
from whimbrel.modules.support.dbm.sdbm import PAGE, pairs

BY_INODE: Final = 10
BY_NAME: Final = 11
_WIDTHS: Final = frozenset({8, 12, 16})
"""The sizes of an inode and a device number together, by machine."""


class LockDatabase(Enum):
    """The version that wrote a lock database."""

    ABSENT = "no such file"
    EMPTY = "a lock database without locks"
    OF_22 = "written by 2.2"
    OF_24 = "locks by name, as 2.4 writes them, and 2.2 for resources that do not exist"
    UNKNOWN = "no lock database"


def recognize(path: str) -> LockDatabase:
    """Return the version of the database *path*, with or without its ``.pag``; an unreadable file
    is UNKNOWN."""
    base = path.removesuffix(".pag").removesuffix(".dir")
    try:
        return kind_of(read_regular(to_bytes(f"{base}.pag")))
    except FileNotFoundError:
        return LockDatabase.ABSENT
    except (OSError, ValueError):
        return LockDatabase.UNKNOWN


def kind_of(data: bytes) -> LockDatabase:
    """Return the version of the bytes of a .pag file."""
    if not data.strip(b"\0"):
        return LockDatabase.EMPTY
    if len(data) % PAGE:
        return LockDatabase.UNKNOWN
    keys = [key for key, _value in pairs(data)]
    if any(key[0] == BY_INODE and len(key) - 1 in _WIDTHS for key in keys if key):
        return LockDatabase.OF_22
    return (
        LockDatabase.OF_24
        if keys and all(key[:1] == bytes([BY_NAME]) for key in keys)
        else LockDatabase.UNKNOWN
    )
