"""File descriptors that stay open between uses of a cached response."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from whimbrel.engine.cache.fd_cache import MAX_OPEN, FdCache, max_open
from whimbrel.engine.deps.files import StatSignature, stat_signature


def laid(root: Path, name: str, text: str) -> tuple[bytes, StatSignature]:
    (root / name).write_text(text)
    return os.fsencode(root / name), stat_signature(os.stat(root / name))


def is_open(handle: int) -> bool:
    try:
        os.fstat(handle)
    except OSError:
        return False
    return True


def test_one_file_has_one_descriptor(tmp_path: Path) -> None:
    files, (path, stamp) = FdCache(), laid(tmp_path, "a", "abc")
    handle = files.get(path, stamp)
    assert os.pread(handle, 9, 0) == b"abc"
    assert files.get(path, stamp) == handle
    assert len(files) == 1
    files.close()
    assert not is_open(handle)


def test_there_are_no_more_than_so_many(tmp_path: Path) -> None:
    files, before = FdCache(3), len(os.listdir("/proc/self/fd"))
    for name in "abcdefgh":
        path, stamp = laid(tmp_path, name, name)
        assert os.pread(files.get(path, stamp), 9, 0) == name.encode()
        assert len(files) <= 3
    assert len(os.listdir("/proc/self/fd")) == before + 3
    files.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_the_oldest_is_closed_and_what_was_used_is_spared_once(tmp_path: Path) -> None:
    files = FdCache(3)
    laid_out = {name: laid(tmp_path, name, name) for name in "abcdef"}
    for name in "abc":
        files.get(*laid_out[name])
    files.sweep()
    handles = {name: files.get(*laid_out[name]) for name in "ac"}
    files.get(*laid_out["d"])  # in the place of "b"
    assert files.closed == 1 and all(is_open(handle) for handle in handles.values())
    files.get(*laid_out["e"])
    assert files.closed == 2 and len(files) == 3
    files.close()
    assert files.closed == 5


@pytest.mark.parametrize(
    ("limit", "most"), [(resource.RLIM_INFINITY, MAX_OPEN), (20_000, MAX_OPEN), (1024, 128), (4, 1)]
)
def test_a_process_with_few_descriptors_has_few_for_files(
    monkeypatch: pytest.MonkeyPatch, limit: int, most: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (limit, limit))
    assert max_open() == most


def test_what_nobody_uses_is_closed_by_the_second_sweep(tmp_path: Path) -> None:
    files = FdCache()
    used, idle = laid(tmp_path, "used", "u"), laid(tmp_path, "idle", "i")
    first, second = files.get(*used), files.get(*idle)
    files.sweep()
    assert is_open(first) and is_open(second)
    assert files.get(*used) == first
    files.sweep()
    assert is_open(first) and not is_open(second)
    files.sweep()
    assert not is_open(first)


@pytest.mark.parametrize("change", ["rewritten", "replaced", "removed"])
def test_a_file_that_is_another_is_not_given_under_the_old_mark(tmp_path: Path, change: str) -> None:
    files, (path, stamp) = FdCache(), laid(tmp_path, "a", "abc")
    other = tmp_path / "a"
    if change == "removed":
        other.unlink()
    elif change == "replaced":
        (tmp_path / "b").write_text("xyz")
        os.replace(tmp_path / "b", other)
    else:
        other.write_text("wxyz")
    assert files.get(path, stamp) == -1
    assert len(files) == 0


def test_a_new_mark_closes_the_old_file(tmp_path: Path) -> None:
    files, (path, stamp) = FdCache(), laid(tmp_path, "a", "abc")
    first = files.get(path, stamp)
    held = os.fstat(first).st_ino
    (tmp_path / "b").write_text("longer")
    os.replace(tmp_path / "b", tmp_path / "a")
    second = files.get(path, stat_signature(os.stat(tmp_path / "a")))
    assert os.pread(second, 9, 0) == b"longer"
    assert os.fstat(second).st_ino != held
    assert len(files) == 1
    files.close()
