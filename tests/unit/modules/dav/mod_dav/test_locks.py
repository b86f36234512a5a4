"""The lock database: what holds where, who may share it, and its bounds."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

import pytest

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.modules.dav.mod_dav import locks
from whimbrel.modules.dav.mod_dav.errors import DavError
from whimbrel.modules.dav.mod_dav.locks import INFINITE, Lock, LockScope, LockStore, new_token


def lock(path: str, scope: LockScope = LockScope.EXCLUSIVE, *, deep: bool = True) -> Lock:
    """A lock without end."""
    return Lock(path, new_token(), scope, True, deep, INFINITE, "", None)


def test_deep_locks_hold_below(tmp_path: Path) -> None:
    store = LockStore(str(tmp_path / "db"))
    assert store.is_empty()
    assert not (tmp_path / "db").exists()
    deep, flat = lock("/a/b"), lock("/c", deep=False)
    store.add(deep)
    store.add(flat)
    assert store.find("/a/b/c/d") == store.find("/a/b") == [deep]
    assert store.find("/a/bc") == store.find("/a") == store.find("/c/d") == []
    assert store.find("/c") == [flat]
    assert store.below("/a") == store.members("/a") == [deep]
    assert store.direct("/a/b/c") == []


def test_two_workers_share_the_file(tmp_path: Path) -> None:
    first, second = (LockStore(str(tmp_path / "db")) for _ in range(2))
    granted = lock("/a")
    first.add(granted)
    assert second.find("/a/b") == [granted]
    second.remove(granted.token)
    assert first.find("/a") == []


@pytest.mark.parametrize(
    ("path", "scope", "deep"),
    [
        ("/a/b", LockScope.EXCLUSIVE, False),
        ("/a/b", LockScope.SHARED, False),
        ("/a/b/c", LockScope.EXCLUSIVE, False),
        ("/a", LockScope.EXCLUSIVE, True),
    ],
)
def test_conflicts_are_found_in_the_transaction(
    tmp_path: Path, path: str, scope: LockScope, deep: bool
) -> None:
    store = LockStore(str(tmp_path / "db"))
    store.add(lock("/a/b"))
    with pytest.raises(DavError) as caught:
        store.add(lock(path, scope, deep=deep))
    assert caught.value.status == 423
    store.add(lock("/a", deep=False))


def test_shared_locks_and_refresh(tmp_path: Path) -> None:
    store = LockStore(str(tmp_path / "db"))
    one, two = lock("/a", LockScope.SHARED), lock("/a", LockScope.SHARED)
    store.add(one)
    store.add(two)
    soon = int(time.time()) + 3600
    assert store.refresh("/a/b", [one.token, "other"], soon) == [replace(one, expires=soon)]
    assert store.find("/a") == [two, replace(one, expires=soon)]


def test_expired_locks_are_gone(tmp_path: Path) -> None:
    store = LockStore(str(tmp_path / "db"))
    store.add(replace(lock("/a"), expires=int(time.time()) - 1))
    assert store.find("/a") == []
    store.add(lock("/a"))
    with sqlite3.connect(tmp_path / "db") as connection:
        assert connection.execute("SELECT count(*) FROM lock").fetchone() == (1,)


def test_files_of_other_programs_are_never_written(tmp_path: Path) -> None:
    path = tmp_path / "db"
    other = tmp_path / "other"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE birds (name)")
    connection.close()
    for data in (b"text", bytes(1024), other.read_bytes()):
        path.write_bytes(data)
        store = LockStore(str(path))
        for use in (lambda s=store: s.find("/a"), lambda s=store: s.add(lock("/a"))):
            with pytest.raises(DavError) as caught:
                use()
            assert (caught.value.status, caught.value.error_id) == (500, 400)
            assert caught.value.description == "Could not open the lock database."
        assert path.read_bytes() == data
    path.write_bytes(b"text")
    (tmp_path / "db.pag").write_bytes(b"")
    first, second = locks.foreign_files(str(path))
    assert str(path) in first
    assert "db.pag" in second


def test_without_a_path_or_a_directory(tmp_path: Path) -> None:
    with pytest.raises(DavError) as caught:
        LockStore("").is_empty()
    assert (caught.value.status, caught.value.error_id) == (500, 401)
    with pytest.raises(DavError):
        LockStore(str(tmp_path / "none/db")).find("/a")


def test_a_replaced_file_is_opened_anew(tmp_path: Path) -> None:
    store = LockStore(str(tmp_path / "db"))
    store.add(lock("/a"))
    for path in tmp_path.glob("db*"):
        path.unlink()
    assert store.find("/a") == []


def test_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = LockStore(str(tmp_path / "db"))
    monkeypatch.setattr(locks, "MAX_LOCKS", 2)
    store.add(lock("/a"))
    store.add(lock("/b"))
    with pytest.raises(DavError) as caught:
        store.add(lock("/c"))
    assert caught.value.status == 507
    with pytest.raises(DavError):
        store.add(replace(lock("/d"), owner="x" * (locks.MAX_OWNER + 1)))


def descriptors(path: Path) -> int:
    """Return how often this process has *path* open."""
    links = [os.path.realpath(entry.path) for entry in os.scandir("/proc/self/fd")]
    return links.count(str(path))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="there is no /proc")
def test_a_database_that_cannot_be_prepared_is_closed(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "db") as connection:
        connection.execute("CREATE TABLE other (x)")
    connection.close()
    store = LockStore(str(tmp_path / "db"))
    with pytest.raises(DavError) as caught:
        store.is_empty()
    assert caught.value.status == 500
    assert descriptors(tmp_path / "db") == 0


def test_a_full_disk_closes_no_database(tmp_path: Path) -> None:
    """A database in WAL mode needs room to be opened again."""
    store = LockStore(str(tmp_path / "db"))
    first = lock("/a")
    store.add(first)
    opened = store._connection
    assert opened is not None
    pages = opened.execute("PRAGMA page_count").fetchone()[0]
    opened.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(DavError) as caught:
        for number in range(1000):
            store.add(lock(f"/b{number}"))
    assert caught.value.status == 500
    assert store._connection is opened
    assert store.find("/a") == [first]
    store.remove(first.token)
    assert store.find("/a") == []
