"""Backups never lie where an Include reads them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import config_tree, fragments, laid

from whimbrel.upgrade.apply.backup_paths import BACKUP, DIRECTORY, backup_path, read_by_includes
from whimbrel.upgrade.apply.transaction import undo, write

MAIN = "conf/httpd.conf"


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the journals in a directory of the test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))


@pytest.mark.parametrize(
    ("include", "is_read"),
    [
        ("conf.d/", True),
        ("conf.d", True),
        ("conf.d/*", True),
        ("conf.d/*.conf", False),
        ("conf.d/a.conf", False),
        ("c*/*", True),
        ("*.d/a*", True),
    ],
)
def test_what_an_include_reads(include: str, is_read: bool, tmp_path: Path) -> None:
    found = config_tree(tmp_path, {MAIN: f"Include {include}\n", "conf.d/a.conf": "X 1\n"})
    assert read_by_includes(found)(f"{tmp_path}/conf.d/a.conf{BACKUP}") is is_read


def test_wildcards_match_no_dot_but_directories_hold_everything(tmp_path: Path) -> None:
    found = config_tree(
        tmp_path, {MAIN: "Include conf.d/*\nInclude sites/\n", "conf.d/a": "X 1\n", "sites/b": "X 1\n"}
    )
    is_read = read_by_includes(found)
    assert not is_read(f"{tmp_path}/conf.d/.x") and is_read(f"{tmp_path}/sites/.x/y")


def test_the_backup_goes_to_the_state_directory_if_an_include_reads_the_tree(tmp_path: Path) -> None:
    found = config_tree(tmp_path, {MAIN: "Include ROOT/all/\n", "all/conf.d/a": "X 1\n"})
    top = f"{tmp_path}/all"
    path = backup_path(f"{top}/conf.d/a", BACKUP, top, "/state", read_by_includes(found))
    assert path == f"/state/{DIRECTORY}/conf.d/a{BACKUP}"


def test_written_and_undone_outside_of_an_included_directory(tmp_path: Path) -> None:
    found = config_tree(tmp_path, {MAIN: "Include conf.d/\n", "conf.d/a": "X 1\n"})
    target = tmp_path / "conf.d/a"
    write({str(target): b"Y 1\n"}, str(tmp_path), is_read=read_by_includes(found))
    assert [path.name for path in (tmp_path / "conf.d").iterdir()] == ["a"]
    assert (tmp_path / DIRECTORY / f"conf.d/a{BACKUP}").read_bytes() == b"X 1\n"
    target.write_bytes(b"Z 1\n")
    _restored, kept = undo(str(tmp_path))
    assert target.read_bytes() == b"X 1\n"
    assert len(kept) == 1 and Path(kept[0]).parent == tmp_path / DIRECTORY / "conf.d"


def test_undo_leaves_no_directory_behind(tmp_path: Path) -> None:
    found = config_tree(tmp_path, {MAIN: "Include conf.d/\n", "conf.d/a": "X 1\n"})
    before = sorted(path for path in tmp_path.rglob("*"))
    write({f"{tmp_path}/conf.d/a": b"Y 1\n"}, str(tmp_path), is_read=read_by_includes(found))
    undo(str(tmp_path))
    assert sorted(path for path in tmp_path.rglob("*")) == before


def test_a_fragment_in_a_directory_that_a_server_is_likely_to_include(tmp_path: Path) -> None:
    laid(tmp_path, {"conf.d/a.conf": "X 1\n"})
    found = fragments(tmp_path, {"conf.d/a.conf": "X 1\n"})
    directory = f"{tmp_path}/conf.d"
    write({f"{directory}/a.conf": b"Y 1\n"}, directory, is_read=read_by_includes(found))
    assert [path.name for path in Path(directory).iterdir()] == ["a.conf"]
    assert [path.name for path in tmp_path.iterdir()] == ["conf.d"]
    undo(directory)
    assert (tmp_path / "conf.d/a.conf").read_bytes() == b"X 1\n"
