"""Locks of files between processes."""

from __future__ import annotations

import os
from pathlib import Path

from whimbrel.base.file_locks import lock, lock_open_file, try_lock, try_lock_open_file, unlock


def in_child(path: Path, start: int) -> bool:
    """Return True if another process can lock the byte at *start*."""
    pid = os.fork()
    if pid == 0:
        handle = os.open(path, os.O_RDWR)
        os._exit(0 if try_lock(handle, 1, start) else 1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_a_record_lock_keeps_other_processes_out(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.write_bytes(b"")
    handle = os.open(path, os.O_RDWR)
    lock(handle, 1, 3)
    assert not in_child(path, 3)
    assert in_child(path, 4)
    unlock(handle, 1, 3)
    assert in_child(path, 3)
    os.close(handle)


def test_the_lock_of_an_open_directory_ends_with_it(tmp_path: Path) -> None:
    first, second = (os.open(tmp_path, os.O_RDONLY) for _ in range(2))
    lock_open_file(first)
    assert not try_lock_open_file(second)
    os.close(first)
    assert try_lock_open_file(second)
    os.close(second)
