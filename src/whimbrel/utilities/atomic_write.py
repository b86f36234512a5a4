"""Atomic replacement of a file: a temporary file in the same directory is synced and renamed over it.

Mode and owner are preserved, symbolic links are followed; a new file has the mode that the umask gives.  If
the directory is not writable or the target is not a regular file, the content is written in place.
"""

from __future__ import annotations

import os
import stat
import tempfile


def atomic_write(path: bytes, data: bytes, mode: int = 0o666) -> None:
    """Replace the content of the file with *data*; *mode*, less the umask, applies to a new file.  Raises
    OSError.
    """
    target = os.path.realpath(path)
    try:
        before = os.stat(target)
    except FileNotFoundError:
        before = None
    if before is not None and not stat.S_ISREG(before.st_mode):
        return _write_in_place(target, data, mode)
    try:
        handle, temporary = tempfile.mkstemp(prefix=b".", suffix=b".tmp", dir=os.path.dirname(target) or b".")
    except PermissionError:
        return _write_in_place(target, data, mode)
    try:
        _fill(handle, data, before, mode)
        os.rename(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _fill(handle: int, data: bytes, before: os.stat_result | None, mode: int) -> None:
    with open(handle, "wb") as file:
        file.write(data)
        if before is None:
            os.fchmod(handle, mode & ~_umask())
        else:
            if (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
                os.fchown(handle, before.st_uid, before.st_gid)
            os.fchmod(handle, stat.S_IMODE(before.st_mode))
        file.flush()
        os.fsync(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _write_in_place(path: bytes, data: bytes, mode: int) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with open(handle, "wb") as file:
        file.write(data)
