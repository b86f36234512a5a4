"""Writing an upgrade: all or nothing, whatever step it breaks at, and the way back."""

from __future__ import annotations

import errno
import json
import os
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from whimbrel.upgrade.apply.backup_paths import BACKUP
from whimbrel.upgrade.apply.journal import WriteError
from whimbrel.upgrade.apply.state_directory import StateDirectory
from whimbrel.upgrade.apply.transaction import OLD_JOURNAL, changed_later, recover, saved, undo, write

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


def test_a_tree_that_is_made_anew_gets_backups_of_its_own(tmp_path: Path) -> None:
    """The journal of the tree that was at this path names backups that are gone."""
    root = tmp_path / "site"
    write(site(root), str(root))
    shutil.rmtree(root)
    files = site(root)
    (root / "a.conf").write_bytes(b"another a\n")
    old = now(root)
    del files[str(root / "b.conf")]
    assert sorted(write(files, str(root))) == [
        str(root / name) + BACKUP for name in ("a.conf", "sub/.htaccess")
    ]
    assert now(root)["a.conf"] == NEW["a.conf"] and now(root)["a.conf" + BACKUP] == b"another a\n"
    assert saved(str(root)) == {str(root / name): old[name] for name in ("a.conf", "sub/.htaccess")}
    undo(str(root))
    assert {name: data for name, data in now(root).items() if BACKUP not in name} == old


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


# a hostile tree -----------------------------------------------------------------------------------
def journal_of(root: Path) -> Path:
    """The journal of the tree."""
    return Path(StateDirectory(str(root)).path) / "journal.json"


def test_the_journal_is_never_in_the_tree(tmp_path: Path, state: Path) -> None:
    write(site(tmp_path), str(tmp_path))
    assert journal_of(tmp_path).is_relative_to(state)
    assert journal_of(tmp_path).stat().st_mode & 0o077 == 0
    assert not (tmp_path / OLD_JOURNAL).exists()


def test_a_planted_journal_is_not_read(tmp_path: Path) -> None:
    files = site(tmp_path / "tree")
    victim = tmp_path / "victim"
    victim.write_bytes(b"victim")
    entry = {
        "target": str(victim),
        "backup": str(tmp_path / "tree/a.conf"),
        "digest": "",
        "temporary": "",
        "fresh": True,
    }
    for shown in ("undoing", "renaming", "preparing", "done"):
        (tmp_path / "tree" / OLD_JOURNAL).write_text(json.dumps({"state": shown, "entries": [entry]}))
        with pytest.raises(WriteError, match="no upgrade to undo"):
            undo(str(tmp_path / "tree"))
        write(files, str(tmp_path / "tree"))
        undo(str(tmp_path / "tree"))
        assert victim.read_bytes() == b"victim"


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_journal_that_others_may_write_is_refused(mode: int, tmp_path: Path) -> None:
    write(site(tmp_path), str(tmp_path))
    journal_of(tmp_path).chmod(mode)
    with pytest.raises(WriteError, match="another user can have written it"):
        undo(str(tmp_path))


def test_a_state_directory_that_others_may_write_is_refused(tmp_path: Path) -> None:
    write(site(tmp_path), str(tmp_path))
    journal_of(tmp_path).parent.parent.chmod(0o777)
    with pytest.raises(WriteError, match="another user can write there"):
        undo(str(tmp_path))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_journal_of_another_owner_is_refused(tmp_path: Path) -> None:
    write(site(tmp_path), str(tmp_path))
    os.chown(journal_of(tmp_path), 65534, 65534)
    with pytest.raises(WriteError, match="another user can have written it"):
        undo(str(tmp_path))


def test_a_journal_of_another_tree_is_refused(tmp_path: Path) -> None:
    write(site(tmp_path / "one"), str(tmp_path / "one"))
    site(tmp_path / "two")
    path = journal_of(tmp_path / "two")
    path.parent.mkdir(mode=0o700)
    path.write_bytes(journal_of(tmp_path / "one").read_bytes())
    path.chmod(0o600)
    with pytest.raises(WriteError, match="it is of"):
        undo(str(tmp_path / "two"))


def test_a_state_directory_that_is_a_link_is_refused(tmp_path: Path, state: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (state / "whimbrel").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(WriteError, match="cannot be kept there"):
        write(site(tmp_path / "tree"), str(tmp_path / "tree"))
    assert now(tmp_path / "tree") == OLD and not list((tmp_path / "elsewhere").iterdir())


def test_a_state_directory_that_cannot_be_made_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(WriteError, match="set XDG_STATE_HOME to a directory of yours"):
        write(site(tmp_path / "tree"), str(tmp_path / "tree"))
    assert now(tmp_path / "tree") == OLD


def test_targets_outside_are_refused_unless_requested(tmp_path: Path) -> None:
    site(tmp_path / "tree")
    (tmp_path / "victim").write_bytes(b"victim")
    (tmp_path / "tree/linked").symlink_to("../victim")
    for path in (tmp_path / "victim", tmp_path / "tree/linked"):
        with pytest.raises(WriteError, match="outside of"):
            write({str(path): b"new"}, str(tmp_path / "tree"))
    assert (tmp_path / "victim").read_bytes() == b"victim"
    write({str(tmp_path / "tree/linked"): b"new"}, str(tmp_path / "tree"), is_open=True)
    assert (tmp_path / "victim").read_bytes() == b"new"
    undo(str(tmp_path / "tree"))
    assert (tmp_path / "victim").read_bytes() == b"victim"


def test_a_second_upgrade_of_the_tree_alone_keeps_what_the_first_wrote_outside(tmp_path: Path) -> None:
    """The user let the first one write there; the second one changes nothing there. Undoing restores all."""
    for name in ("tree/a.conf", "documents/.htaccess"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"old")
    tree = str(tmp_path / "tree")
    write(
        {str(tmp_path / name): b"new" for name in ("tree/a.conf", "documents/.htaccess")}, tree, is_open=True
    )
    write({str(tmp_path / "tree/a.conf"): b"newer"}, tree)
    with pytest.raises(WriteError, match="outside of"):
        write({str(tmp_path / "documents/.htaccess"): b"newer"}, tree)
    assert (tmp_path / "documents/.htaccess").read_bytes() == b"new"
    undo(tree)
    assert (tmp_path / "documents/.htaccess").read_bytes() == b"old"
    assert (tmp_path / "tree/a.conf").read_bytes() == b"old"


def test_a_file_that_changed_since_it_was_read_is_not_written(tmp_path: Path) -> None:
    files = site(tmp_path)
    (tmp_path / "b.conf").write_bytes(b"by another hand")
    with pytest.raises(WriteError, match="changed since it was read"):
        write(files, str(tmp_path), expected={str(tmp_path / name): data for name, data in OLD.items()})
    assert (tmp_path / "a.conf").read_bytes() == OLD["a.conf"]


def test_a_backup_that_changed_is_not_restored(tmp_path: Path) -> None:
    write(site(tmp_path), str(tmp_path))
    (tmp_path / f"b.conf{BACKUP}").write_bytes(b"planted")
    with pytest.raises(WriteError, match="has changed since it was saved"):
        undo(str(tmp_path))
    assert (tmp_path / "a.conf").read_bytes() == NEW["a.conf"]


def test_a_backup_that_became_a_link_is_not_read(tmp_path: Path) -> None:
    write(site(tmp_path / "tree"), str(tmp_path / "tree"))
    (tmp_path / "secret").write_bytes(OLD["b.conf"])
    (tmp_path / f"tree/b.conf{BACKUP}").unlink()
    (tmp_path / f"tree/b.conf{BACKUP}").symlink_to(tmp_path / "secret")
    with pytest.raises(WriteError):
        undo(str(tmp_path / "tree"))
    assert (tmp_path / "tree/a.conf").read_bytes() == NEW["a.conf"]


def test_a_directory_of_backups_that_is_a_link_is_refused(tmp_path: Path) -> None:
    files = site(tmp_path / "tree")
    (tmp_path / "out").mkdir()
    (tmp_path / "tree/.whimbrel-2.2").symlink_to(tmp_path / "out")
    beside = {str(tmp_path / "tree" / name) + BACKUP for name in OLD}
    with pytest.raises(WriteError):
        write(files, str(tmp_path / "tree"), is_read=lambda path: path in beside)
    assert now(tmp_path / "tree") == OLD and not list((tmp_path / "out").iterdir())


@pytest.mark.parametrize("at", range(12))
def test_a_link_that_comes_at_any_step_is_not_followed(at: int, tmp_path: Path) -> None:
    """The owner of the tree replaces a target and its directory by links while root writes."""
    files = site(tmp_path / "tree")
    (tmp_path / "out").mkdir()
    for name in ("a.conf", ".htaccess"):
        (tmp_path / "out" / name).write_bytes(b"victim")
    left = [at]

    def race(_step: str) -> None:
        if left[0] == 0:
            (tmp_path / "tree/a.conf").unlink()
            (tmp_path / "tree/a.conf").symlink_to(tmp_path / "out/a.conf")
            (tmp_path / "tree/sub").rename(tmp_path / "tree/moved")
            (tmp_path / "tree/sub").symlink_to(tmp_path / "out")
        left[0] -= 1

    with suppress(WriteError):
        write(files, str(tmp_path / "tree"), race)
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == {
        "a.conf": b"victim",
        ".htaccess": b"victim",
    }


def test_the_journal_knows_what_was_read(tmp_path: Path) -> None:
    """Also of files that no upgrade has written; a later upgrade does not change what 2.2 had."""
    files = site(tmp_path)
    only = {path: data for path, data in files.items() if path.endswith("a.conf")}
    read = {str(tmp_path / name): data for name, data in OLD.items()}
    write(only, str(tmp_path), read=read)
    assert changed_later(str(tmp_path), read) == []
    other = tmp_path / "b.conf"
    other.write_bytes(b"by hand")
    os.utime(other, (1, 1))
    what = "was changed after the upgrade, which made no backup of it"
    assert changed_later(str(tmp_path), []) == [(str(other), what)]
    read[str(other)] = b"by hand"
    write({str(other): b"new"}, str(tmp_path), read=read)
    assert changed_later(str(tmp_path), []) == [(str(other), "was changed between two upgrades")]


def test_a_journal_without_digests_decides_by_times(tmp_path: Path) -> None:
    files = site(tmp_path)
    write({path: data for path, data in files.items() if path.endswith("a.conf")}, str(tmp_path))
    other = tmp_path / "b.conf"
    os.utime(other, (1, 1))
    assert changed_later(str(tmp_path), [str(other)]) == []
    os.utime(other, (1 << 32, 1 << 32))
    what = "was written after the upgrade, which did not read it"
    assert changed_later(str(tmp_path), [str(other)]) == [(str(other), what)]
