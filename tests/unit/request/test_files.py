"""File questions and their notes."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from whimbrel.request.files import Contents, FileView, Looks, is_file, is_folder, is_link, still_holds


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


def test_what_happens_in_a_folder_matters_only_where_it_was_asked_for(tmp_path: Path) -> None:
    plain, listing = FileView(), FileView()
    assert is_folder(plain.stat(str(tmp_path)))
    assert is_folder(listing.exact(str(tmp_path)))
    (tmp_path / "later").write_text("")
    assert still_holds(notes(plain))
    assert not still_holds(notes(listing))


def test_a_folder_whose_rights_change_is_another_one(tmp_path: Path) -> None:
    view = FileView()
    assert is_folder(view.lstat(str(tmp_path)))
    tmp_path.chmod(0o700 if tmp_path.stat().st_mode & 0o77 else 0o755)
    assert not still_holds(notes(view))


def test_a_small_file_is_kept_until_it_changes(tmp_path: Path) -> None:
    page, contents = tmp_path / "page.html", Contents()
    page.write_text("one")
    os.utime(page, (1000, 1000))
    contents.put(str(page), page.stat(), b"one", 2000.0)
    known = contents.get(str(page), page.stat())
    assert known is not None and known.data == b"one"
    page.write_text("two")
    os.utime(page, (1000, 1000))  # the time of its inode tells that it changed
    assert contents.get(str(page), page.stat()) is None


def test_what_is_young_or_large_is_not_kept(tmp_path: Path) -> None:
    page, contents = tmp_path / "page.html", Contents()
    page.write_text("one")
    os.utime(page, (1000, 1000))
    contents.put(str(page), page.stat(), b"one", 1000.5)
    assert contents.get(str(page), page.stat()) is None
    contents.put(str(page), page.stat(), bytes(1 << 20), 2000.0)
    assert contents.get(str(page), page.stat()) is None


def test_the_contents_of_all_files_are_bounded(tmp_path: Path) -> None:
    page, contents = tmp_path / "page.html", Contents()
    page.write_text("one")
    os.utime(page, (1000, 1000))
    for number in range(1000):
        contents.put(f"/{number}", page.stat(), bytes(10_000), 2000.0)
    kept = [number for number in range(1000) if contents.get(f"/{number}", page.stat()) is not None]
    assert 0 < len(kept) < 300 and kept[-1] == 999


def test_requests_of_one_turn_share_their_questions(tmp_path: Path) -> None:
    page, looks = tmp_path / "page.html", Looks()
    page.write_text("one")
    looks.open = True
    views = [FileView(looks) for _ in range(3)]
    first = views[0].stat(str(page))
    assert views[0].stat(str(tmp_path / "none")) is None
    page.unlink()
    (tmp_path / "none").write_text("there")
    assert views[1].stat(str(page)) is first and views[1].newest == views[0].newest
    assert views[1].stat(str(tmp_path / "none")) is None and views[1].errno == errno.ENOENT
    assert views[1].notes == views[0].notes
    assert views[1].lstat(str(page)) is None  # another question
    looks.open = False
    assert views[2].stat(str(page)) is None and is_file(views[2].stat(str(tmp_path / "none")))
