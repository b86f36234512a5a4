"""Parts of the module os that a system may lack, with what takes their place for the toolchain.

The server needs all of them. A flag of os.open that the system does not have is left out: it has no FIFOs,
terminals or forks to protect from.
"""

from __future__ import annotations

import os

from whimbrel.base.static_typing import Final

NO_FOLLOW: Final[int] = getattr(os, "O_NOFOLLOW", 0)
DIRECTORY: Final[int] = getattr(os, "O_DIRECTORY", 0)
NO_TERMINAL: Final[int] = getattr(os, "O_NOCTTY", 0)
NOT_INHERITED: Final[int] = getattr(os, "O_CLOEXEC", 0)
BINARY: Final[int] = getattr(os, "O_BINARY", 0)
PATH_ONLY: Final[int] = getattr(os, "O_PATH", os.O_RDONLY)
READ: Final[int] = os.O_RDONLY | NOT_INHERITED | getattr(os, "O_NONBLOCK", 0) | NO_TERMINAL | BINARY
"""Read a file; open waits for no writer of a FIFO and takes no terminal."""


def _seek_and_read(handle: int, size: int, offset: int, /) -> bytes:
    os.lseek(handle, offset, os.SEEK_SET)
    return os.read(handle, size)


pread = getattr(os, "pread", _seek_and_read)
"""Read from an offset; a system without os.pread moves the position of the descriptor."""


def load_average() -> tuple[float, float, float]:
    """Return the load of 1, 5 and 15 minutes; -1.0 where the system has none, as in ap_get_loadavg."""
    return os.getloadavg() if hasattr(os, "getloadavg") else (-1.0, -1.0, -1.0)
