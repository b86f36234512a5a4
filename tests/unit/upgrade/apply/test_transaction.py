"""Writing an upgrade: all or nothing, whatever step it breaks at, and the way back."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from whimbrel.upgrade.apply.journal import WriteError
from whimbrel.upgrade.apply.transaction import BACKUP, recover, undo, write

OLD = {"a.conf": b"old a\r\n", "b.conf": b"old \xe9", "sub/.htaccess": b""}
NEW = {"a.conf": b"new a\r\n", "b.conf": b"new \xe9", "sub/.htaccess": b"new\n"}


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state directory of the user."""
    path = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("XDG_STATE_HOME", str(path))
    return path


class Crash(Exception):
    """The end of the process."""


class Stop:
    """A hook that lets *steps* steps happen, then raises."""

    def __init__(self, steps: int, problem: Exception) -> None:
        self.left, self.problem = steps, problem

    def __call__(self, _step: str) -> None:
        if self.left == 0:
            raise self.problem
        self.left -= 1


def site(root: Path) -> dict[str, bytes]:
    """The old files on disk; the new ones by absolute path."""
    for name, data in OLD.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return {str(root / name): data for name, data in NEW.items()}


def now(root: Path) -> dict[str, bytes]:
    """Every file below *root*."""
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def steps(root: Path) -> int:
    """How many steps a whole run has."""
    counted: list[str] = []
    write(site(root), str(root), counted.append)
    return len(counted)


def test_written_with_backups_and_undone(tmp_path: Path) -> None:
    backups = write(site(tmp_path), str(tmp_path))
    assert sorted(backups) == sorted(str(tmp_path / name) + BACKUP for name in OLD)
    after = now(tmp_path)
    assert {name: after[name] for name in NEW} == NEW
    assert {name: after[name + BACKUP] for name in OLD} == OLD
    assert set(after) == {*NEW, *(name + BACKUP for name in OLD)}
    restored, kept = undo(str(tmp_path))
    assert (len(restored), kept) == (3, [])
    assert now(tmp_path) == OLD


@pytest.mark.parametrize("at", range(12))
@pytest.mark.parametrize("way", ["recover", "undo"])
def test_a_crash_at_any_step_is_mended(at: int, way: str, tmp_path: Path) -> None:
    files = site(tmp_path / "real")
    total = steps(tmp_path / "count")
    assert total == 12
    with pytest.raises(Crash):
        write(files, str(tmp_path / "real"), Stop(at, Crash()))
    if way == "recover":
        recover(str(tmp_path / "real"))
        after = now(tmp_path / "real")
        assert {name: after[name] for name in OLD} in (OLD, NEW)
        assert set(after) <= {*OLD, *(name + BACKUP for name in OLD)}
        assert after["a.conf"] == OLD["a.conf"] or after["a.conf" + BACKUP] == OLD["a.conf"]
    else:
        try:
            undo(str(tmp_path / "real"))
        except WriteError as problem:
            assert "no upgrade to undo" in str(problem)
        assert now(tmp_path / "real") == OLD


@pytest.mark.parametrize("at", range(5))
def test_a_crash_while_undoing_is_mended_by_undoing_again(at: int, tmp_path: Path) -> None:
    write(site(tmp_path), str(tmp_path))
    with pytest.raises(Crash):
        undo(str(tmp_path), Stop(at, Crash()))
    undo(str(tmp_path))
    assert now(tmp_path) == OLD


@pytest.mark.parametrize("at", range(8))
def test_an_error_of_the_system_leaves_nothing_half_written(at: int, tmp_path: Path) -> None:
    """Up to the first rename; the disk is full or the directory cannot be written."""
    files = site(tmp_path)
    with pytest.raises(WriteError, match="No space left"):
        write(files, str(tmp_path), Stop(at, OSError(errno.ENOSPC, "No space left on device", "x")))
    assert now(tmp_path) == OLD


@pytest.mark.parametrize("at", range(8, 12))
def test_an_error_among_the_renames_can_be_mended_both_ways(at: int, tmp_path: Path) -> None:
    for name, mend in (("on", recover), ("back", undo)):
        files = site(tmp_path / name)
        with pytest.raises(WriteError, match="run the upgrade again, or --undo"):
            write(files, str(tmp_path / name), Stop(at, OSError(errno.EIO, "Input/output error", "x")))
        mend(str(tmp_path / name))
    assert {name: now(tmp_path / "on")[name] for name in NEW} == NEW
    assert now(tmp_path / "back") == OLD


def test_a_target_in_a_folder_that_is_gone(tmp_path: Path) -> None:
    files = site(tmp_path) | {str(tmp_path / "gone/x"): b"x"}
    with pytest.raises(WriteError, match="gone/x: No such file or directory"):
        write(files, str(tmp_path))
    assert now(tmp_path) == OLD


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission(tmp_path: Path) -> None:
    files = site(tmp_path)
    (tmp_path / "sub").chmod(0o555)
    with pytest.raises(WriteError, match="Permission denied"):
        write(files, str(tmp_path))
    assert now(tmp_path) == OLD


def test_a_second_upgrade_keeps_the_first_backup(tmp_path: Path) -> None:
    write(site(tmp_path), str(tmp_path))
    write({str(tmp_path / "a.conf"): b"newer"}, str(tmp_path))
    assert (tmp_path / f"a.conf{BACKUP}").read_bytes() == OLD["a.conf"]
    undo(str(tmp_path))
    assert now(tmp_path) == OLD


def test_a_failed_second_upgrade_leaves_the_first_as_it_was(tmp_path: Path) -> None:
    write(site(tmp_path), str(tmp_path))
    with pytest.raises(WriteError):
        write(
            {str(tmp_path / "a.conf"): b"newer"},
            str(tmp_path),
            Stop(2, OSError(errno.ENOSPC, "No space", "x")),
        )
    assert (tmp_path / "a.conf").read_bytes() == NEW["a.conf"]
    undo(str(tmp_path))
    assert now(tmp_path) == OLD


def test_a_foreign_file_by_the_name_of_a_backup_stays(tmp_path: Path) -> None:
    files = site(tmp_path)
    (tmp_path / f"a.conf{BACKUP}").write_bytes(b"mine")
    write(files, str(tmp_path))
    undo(str(tmp_path))
    assert now(tmp_path) == {**OLD, f"a.conf{BACKUP}": b"mine"}


def test_later_changes_of_other_hands_are_kept(tmp_path: Path) -> None:
    write(site(tmp_path), str(tmp_path))
    (tmp_path / "a.conf").write_bytes(b"by hand")
    _restored, kept = undo(str(tmp_path))
    assert [Path(path).read_bytes() for path in kept] == [b"by hand"]
    assert (tmp_path / "a.conf").read_bytes() == OLD["a.conf"]


def test_a_missing_backup_is_told_and_nothing_undone(tmp_path: Path) -> None:
    write(site(tmp_path), str(tmp_path))
    os.unlink(tmp_path / f"b.conf{BACKUP}")
    with pytest.raises(WriteError, match="is missing"):
        undo(str(tmp_path))
    assert (tmp_path / "a.conf").read_bytes() == NEW["a.conf"]


def test_links_modes_and_owners_stay(tmp_path: Path) -> None:
    site(tmp_path)
    (tmp_path / "a.conf").chmod(0o640)
    if os.geteuid() == 0:
        os.chown(tmp_path / "a.conf", 12, 34)
    owner = os.stat(tmp_path / "a.conf").st_uid, os.stat(tmp_path / "a.conf").st_gid
    (tmp_path / "enabled").symlink_to("a.conf")
    write({str(tmp_path / "enabled"): b"new"}, str(tmp_path))
    assert os.readlink(tmp_path / "enabled") == "a.conf"
    status = os.lstat(tmp_path / "a.conf")
    assert (status.st_mode & 0o7777, status.st_uid, status.st_gid) == (0o640, *owner)
    assert (tmp_path / "enabled").read_bytes() == b"new"
