"""PidFile: a process ID and a line end, written when the server runs and removed at its end."""

from __future__ import annotations

import os

from whimbrel.base.latin1 import to_bytes


class BadPidFile(ValueError):
    """Error: the file holds no number."""


def read(path: str) -> int | None:
    """Return the number in the file, None without a file; raise BadPidFile."""
    try:
        with open(to_bytes(path), "rb") as file:
            data = file.read(256)
    except FileNotFoundError:
        return None
    except OSError:
        raise BadPidFile(path) from None
    digits = data.split(b"\n", 1)[0].strip()
    if not digits.isdigit() or int(digits) < 1:
        raise BadPidFile(path)
    return int(digits)


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
    """Remove the file if it holds *number*; return True if it was removed."""
    try:
        if read(path) == number:
            os.unlink(to_bytes(path))
            return True
    except (BadPidFile, OSError):
        pass
    return False
