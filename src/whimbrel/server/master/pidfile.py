"""PidFile: a process ID and a line end, written when the server runs and removed at its end."""

from __future__ import annotations

import os

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_re import compile
from whimbrel.base.static_typing import Final

_MAX_BYTES: Final = 24  # as in httpd, which takes a longer file for a corrupt one
_NUMBER: Final = compile(rb"[0-9]+")


class BadPidFile(ValueError):
    """Error: the file holds no number; *cause* is the reason why it cannot be read, if there is one."""

    def __init__(self, path: str, cause: OSError | None = None) -> None:
        super().__init__(path)
        self.cause = cause


def read(path: str) -> int | None:
    """Return the number at the beginning of the file, None without a file; raise BadPidFile.

    httpd accepts 0 too, and takes its own process group for a running server then.
    """
    try:
        with open(to_bytes(path), "rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise BadPidFile(path, problem) from None
    digits = _NUMBER.match(data)
    if len(data) > _MAX_BYTES or digits is None or int(digits[0]) < 1:
        raise BadPidFile(path)
    return int(digits[0])


def running(path: str) -> int | None:
    """Return the number in the file if a process with this ID exists; raise BadPidFile."""
    number = read(path)
    return number if number is not None and alive(number) else None


def alive(number: int) -> bool:
    """Return True if the process exists, of any user."""
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def prepare(path: str, number: int) -> bytes:
    """Write the content to a temporary file and return its name for `publish`. Raises OSError."""
    temporary = b"%b.%b" % (to_bytes(path), os.urandom(4).hex().encode())
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.write(handle, b"%d\n" % number)
        os.fchmod(handle, 0o644)
    finally:
        os.close(handle)
    return temporary


def publish(path: str, temporary: bytes) -> None:
    """Rename the temporary file to *path* in one step. Raises OSError."""
    os.rename(temporary, to_bytes(path))


def remove(path: str, number: int) -> bool:
    """Remove the file; False if its number is not *number* but another server's. Raises OSError."""
    try:
        if read(path) not in (number, None):
            return False
    except BadPidFile:
        pass
    os.unlink(to_bytes(path))
    return True
