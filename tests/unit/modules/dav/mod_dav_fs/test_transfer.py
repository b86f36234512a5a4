"""Copies, moves and removals that end early, fail in part, or meet what httpd leaves out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from whimbrel.modules.dav.mod_dav.errors import DavError
from whimbrel.modules.dav.mod_dav_fs import transfer
from whimbrel.modules.dav.mod_dav_fs.file_resource import FileResource
from whimbrel.modules.dav.mod_dav_fs.file_texts import FileStyle

STYLE = FileStyle(False, 0, 0)


def resource(path: Path) -> FileResource:
    """The resource of *path*."""
    info = os.stat(path) if path.exists() else None
    return FileResource(f"/{path.name}", str(path), info, STYLE)


def make(root: Path) -> tuple[Path, Path]:
    """Make a tree of ten files, and another one with one file."""
    for number in range(10):
        path = root / f"source/d{number % 2}/f{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("new" * 100)
    (root / "target").mkdir()
    (root / "target/f").write_text("old")
    return root / "source", root / "target"


def texts(path: Path) -> set[str]:
    """The contents of all files below *path*."""
    return {each.read_text() for each in path.rglob("*") if each.is_file()}


def run(steps: Iterator[None]) -> int:
    """Run all steps; return their number."""
    return sum(1 for _ in steps)


def test_a_closed_copy_leaves_the_target(tmp_path: Path) -> None:
    source, target = make(tmp_path)
    count = run(transfer.copy(resource(source), resource(tmp_path / "other"), -1))
    for number in range(count):
        steps = transfer.copy(resource(source), resource(target), -1)
        for _ in range(number):
            next(steps)
        steps.close()  # type: ignore[attr-defined]
        assert texts(target) in ({"old"}, {"new" * 100})
        assert sorted(os.listdir(tmp_path)) == ["other", "source", "target"]


def test_a_replaced_tree(tmp_path: Path) -> None:
    source, target = make(tmp_path)
    (source / "d0/link").symlink_to("/etc/passwd")
    (source / "d1/f1").chmod(0o755)
    run(transfer.copy(resource(source), resource(target), -1))
    assert texts(target) == {"new" * 100}
    assert not (target / "d0/link").exists()
    assert os.access(target / "d1/f1", os.X_OK)
    run(transfer.move(resource(source), resource(target / "d0/f0")))
    assert not source.exists()
    assert texts(target / "d0/f0/d0") == {"new" * 100, Path("/etc/passwd").read_text()}


def test_properties_go_with_a_file(tmp_path: Path) -> None:
    for name in ("a", "b", ".DAV/a", ".DAV/b"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    run(transfer.copy(resource(tmp_path / "a"), resource(tmp_path / "b"), -1))
    assert (tmp_path / ".DAV/b").read_text() == ".DAV/a"
    run(transfer.remove(resource(tmp_path / "a")))
    assert os.listdir(tmp_path / ".DAV") == ["b"]
    (tmp_path / "c").write_text("c")
    run(transfer.copy(resource(tmp_path / "c"), resource(tmp_path / "b"), -1))
    assert os.listdir(tmp_path / ".DAV") == []


def test_members_that_stay_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, _target = make(tmp_path)
    (source / "d0/link").symlink_to("/etc/passwd")  # httpd does not remove it, so its directory stays
    monkeypatch.setattr(transfer, "MAX_REPORTED", 2)
    with pytest.raises(DavError) as caught:
        run(transfer.remove(resource(source)))
    assert caught.value.status == 207
    assert [(each.uri, each.status) for each in caught.value.responses] == [("/source", 403)]
    assert os.listdir(source) == ["d0"]


def test_missing_collections(tmp_path: Path) -> None:
    source, target = make(tmp_path)
    for status, steps in (
        (409, transfer.copy(resource(target / "f"), resource(tmp_path / "none/f"), -1)),
        (403, transfer.copy(resource(source), resource(tmp_path / "none/f"), -1)),
        (500, transfer.move(resource(source), resource(tmp_path / "none/f"))),
    ):
        with pytest.raises(DavError) as caught:
            run(steps)
        assert caught.value.status == status
    assert texts(source) == {"new" * 100}
