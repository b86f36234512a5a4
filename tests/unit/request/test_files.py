"""File questions and their notes."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from whimbrel.request.files import FileView, is_file, is_folder, is_link, still_holds


def notes(view: FileView) -> tuple[tuple[bytes, bool, tuple[int, int, int, int, int, int] | None], ...]:
    return tuple((path, follow, mark) for (path, follow), mark in view.notes.items())


def test_answers_hold_until_the_file_changes(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("one")
    view = FileView()
    assert is_file(view.stat(str(page)))
    assert still_holds(notes(view))
    page.write_text("longer")
    assert not still_holds(notes(view))


def test_an_absent_file_is_noted_too(tmp_path: Path) -> None:
    view = FileView()
    assert view.stat(str(tmp_path / ".htaccess")) is None
    assert view.errno == errno.ENOENT
    assert still_holds(notes(view))
    (tmp_path / ".htaccess").write_text("x")
    assert not still_holds(notes(view))


def test_a_link_is_seen_as_itself_and_as_its_target(tmp_path: Path) -> None:
    os.symlink(tmp_path, tmp_path / "link")
    view = FileView()
    assert is_link(view.lstat(str(tmp_path / "link")))
    assert is_folder(view.stat(str(tmp_path / "link")))


def test_a_nul_in_a_path_is_no_file() -> None:
    view = FileView()
    assert view.stat("/a\0b") is None
    assert view.errno == errno.EINVAL


def test_a_file_in_the_place_of_a_folder_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    view = FileView()
    assert view.stat(str(tmp_path / "file" / "x")) is None
    assert view.errno == errno.ENOTDIR
