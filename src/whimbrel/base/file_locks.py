"""Advisory locks of files between processes. fcntl is imported with the first lock: a tool takes none."""

from __future__ import annotations


def lock(handle: int, length: int = 0, start: int = 0) -> None:
    """Wait for the record lock of *length* bytes from *start*; 0 is the whole file."""
    from fcntl import LOCK_EX, lockf

    lockf(handle, LOCK_EX, length, start)


def try_lock(handle: int, length: int = 0, start: int = 0) -> bool:
    """Take the record lock if no other process holds it; return False otherwise."""
    from fcntl import LOCK_EX, LOCK_NB, lockf

    try:
        lockf(handle, LOCK_EX | LOCK_NB, length, start)
    except OSError:
        return False
    return True


def unlock(handle: int, length: int = 0, start: int = 0) -> None:
    """Release a record lock."""
    from fcntl import LOCK_UN, lockf

    lockf(handle, LOCK_UN, length, start)


def lock_open_file(handle: int) -> None:
    """Wait for the lock of an open file, a directory too; closing *handle* releases it."""
    from fcntl import LOCK_EX, flock

    flock(handle, LOCK_EX)


def try_lock_open_file(handle: int) -> bool:
    """Take the lock of an open file if no other process holds it; return False otherwise."""
    from fcntl import LOCK_EX, LOCK_NB, flock

    try:
        flock(handle, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return False
    return True
