"""Bounded reading of files that another person may have prepared.

A path of a configuration may name a FIFO, a terminal, /dev/zero or a sparse file of terabytes. Only regular
files are read, at most `MAX_BYTES` of them; opening neither waits for a writer nor takes a terminal.
"""

from __future__ import annotations

import errno
import os
import stat

from whimbrel.base.portability import NO_FOLLOW, READ
from whimbrel.base.static_typing import Final

MAX_BYTES: Final = 64 * 1024 * 1024
"""Bytes of one file of a configuration, of passwords or of a map that are read."""

_NULL: Final = b"/dev/null"


class NotRegular(OSError):
    """A file that is neither regular nor /dev/null; its errno is that of httpd, EBADF."""

    def __init__(self, path: str | bytes) -> None:
        super().__init__(errno.EBADF, os.strerror(errno.EBADF), path)


def open_regular(path: str | bytes, *, dir_fd: int | None = None, follow: bool = True) -> int:
    """Return a descriptor for reading a regular file, or /dev/null; raises NotRegular and OSError.

    A directory is an IsADirectoryError.

    With *follow* False a symbolic link is an error (ELOOP).
    """
    flags = READ if follow else READ | NO_FOLLOW
    handle = os.open(path, flags, dir_fd=dir_fd)
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if not stat.S_ISREG(mode) and os.fsencode(path) != _NULL:
            raise NotRegular(path)
    except BaseException:
        os.close(handle)
        raise
    return handle


def read_regular(path: str | bytes, limit: int = MAX_BYTES) -> bytes:
    """Return the content of a regular file, or of /dev/null; raises OSError.

    It is NotRegular for a device, pipe or socket, and EFBIG for more than *limit* bytes.
    """
    handle = open_regular(path)
    try:
        return read_handle(handle, path, limit)
    finally:
        os.close(handle)


def read_variables(path: str | bytes, limit: int = MAX_BYTES) -> str:
    """Return the text of a file of variables, decoded as Python decodes the environment; raises OSError.

    Zero bytes, which no variable can hold, are left out, as by sh.
    """
    return os.fsdecode(read_regular(path, limit).replace(b"\0", b""))


def read_start(path: str | bytes, size: int) -> bytes:
    """Return the first *size* bytes of a regular file, or of /dev/null; raises OSError."""
    handle = open_regular(path)
    try:
        pieces = list[bytes]()
        while size > 0 and (piece := os.read(handle, min(size, 1 << 20))):
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)
    finally:
        os.close(handle)


def read_handle(handle: int, path: str | bytes, limit: int = MAX_BYTES) -> bytes:
    """Return what is left of an open file; raises OSError, with EFBIG for more than *limit* bytes."""
    if os.fstat(handle).st_size > limit:  # a sparse file is refused before memory is taken for it
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), path)
    pieces = list[bytes]()
    left = limit + 1
    while left and (piece := os.read(handle, min(left, 1 << 20))):
        pieces.append(piece)
        left -= len(piece)
    if not left:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), path)
    return b"".join(pieces)
