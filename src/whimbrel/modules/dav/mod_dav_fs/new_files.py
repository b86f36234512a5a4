"""Files and directories that appear under their name only when they are complete.

They are written beside their place under a name with `TEMPORARY` in front, which no method shows.
"""

from __future__ import annotations

import os
import secrets
from errno import EEXIST
from typing import Final

from whimbrel.base.latin1 import to_bytes

TEMPORARY: Final = ".davfs.tmp"
_TRIES: Final = 100
_CURRENT_DIRECTORY: Final = -100  # AT_FDCWD
_EXCHANGE: Final = 2  # RENAME_EXCHANGE


def temporary_name(path: str) -> str:
    """Return a name beside *path* that probably does not exist."""
    return f"{path.rpartition('/')[0]}/{TEMPORARY}{secrets.token_hex(4)}"


def new_file(path: str, mode: int = 0o666) -> tuple[int, str]:
    """Return descriptor and name of a new file beside *path*; *mode* less the umask.  Raises OSError."""
    for _ in range(_TRIES):
        name = temporary_name(path)
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
            return os.open(to_bytes(name), flags, mode), name
        except FileExistsError:
            continue
    raise FileExistsError(EEXIST, os.strerror(EEXIST), path)


def write_all(handle: int, data: bytes) -> None:
    """Write all of *data*; raise OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


def replace_file(path: str, data: bytes) -> None:
    """Replace the content of the file *path*, or create it; raise OSError."""
    handle, name = new_file(path)
    try:
        try:
            write_all(handle, data)
        finally:
            os.close(handle)
        os.rename(to_bytes(name), to_bytes(path))
    except BaseException:
        os.unlink(to_bytes(name))
        raise


def exchange(first: str, second: str) -> bool:
    """Exchange two names in one step; False if the system or the file system cannot."""
    import ctypes  # slow import for replaced collections alone

    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:
        return False
    done: int = function(_CURRENT_DIRECTORY, to_bytes(first), _CURRENT_DIRECTORY, to_bytes(second), _EXCHANGE)
    return done == 0
