"""File questions and their notes."""

from __future__ import annotations

import errno
import os
import time
from pathlib import Path

import pytest

from whimbrel.engine.deps import files
from whimbrel.engine.deps.files import (
    Dependencies,
    FileCache,
    TickStatCache,
    content_signature,
    is_directory,
    is_file,
    is_link,
    is_settled,
    is_settled_file,
    stat_signature,
    unchanged,
)


def holds(view: Dependencies, turn: int = -1) -> bool:
    return unchanged(view.minimal(), turn)


def asked(view: Dependencies) -> set[tuple[str, bool]]:
    return {(note.path.decode().rpartition("/")[2], note.follow) for note in view.minimal()}


def test_answers_hold_until_the_file_changes(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("one")
    view = Dependencies()
    assert is_file(view.stat(str(page)))
    assert holds(view)
    page.write_text("longer")
    assert not holds(view)


def test_an_absent_file_is_noted_too(tmp_path: Path) -> None:
    view = Dependencies()
    assert view.stat(str(tmp_path / ".htaccess")) is None
    assert view.errno == errno.ENOENT
    assert holds(view)
    (tmp_path / ".htaccess").write_text("x")
    assert not holds(view)


def test_a_link_is_seen_as_itself_and_as_its_target(tmp_path: Path) -> None:
    os.symlink(tmp_path, tmp_path / "link")
    view = Dependencies()
    assert is_link(view.lstat(str(tmp_path / "link")))
    assert is_directory(view.stat(str(tmp_path / "link")))


def test_a_nul_in_a_path_is_no_file() -> None:
    view = Dependencies()
    assert view.stat("/a\0b") is None
    assert view.errno == errno.EINVAL


def test_a_file_in_the_place_of_a_folder_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    view = Dependencies()
    assert view.stat(str(tmp_path / "file" / "x")) is None
    assert view.errno == errno.ENOTDIR


def test_what_happens_in_a_folder_matters_only_where_it_was_asked_for(tmp_path: Path) -> None:
    plain, listing = Dependencies(), Dependencies()
    assert is_directory(plain.stat(str(tmp_path)))
    assert is_directory(listing.stat_directory(str(tmp_path)))
    (tmp_path / "later").write_text("")
    assert holds(plain)
    assert not holds(listing)


def test_a_folder_whose_rights_change_is_another_one(tmp_path: Path) -> None:
    view = Dependencies()
    assert is_directory(view.lstat(str(tmp_path)))
    tmp_path.chmod(0o700 if tmp_path.stat().st_mode & 0o77 else 0o755)
    assert not holds(view)


def test_a_small_file_is_kept_until_it_changes(tmp_path: Path) -> None:
    page, contents = tmp_path / "page.html", FileCache()
    page.write_text("one")
    os.utime(page, (1000, 1000))
    contents.put(str(page), page.stat(), b"one", 2000.0)
    known = contents.get(str(page), page.stat())
    assert known is not None and known.data == b"one"
    page.write_text("two")
    os.utime(page, (1000, 1000))  # its ctime shows the change
    assert contents.get(str(page), page.stat()) is None


def test_what_is_young_or_large_is_not_kept(tmp_path: Path) -> None:
    page, contents = tmp_path / "page.html", FileCache()
    page.write_text("one")
    os.utime(page, (1000, 1000))
    contents.put(str(page), page.stat(), b"one", 1000.5)
    assert contents.get(str(page), page.stat()) is None
    contents.put(str(page), page.stat(), bytes(1 << 20), 2000.0)
    assert contents.get(str(page), page.stat()) is None


def test_the_contents_of_all_files_are_bounded(tmp_path: Path) -> None:
    page, contents = tmp_path / "page.html", FileCache()
    page.write_text("one")
    os.utime(page, (1000, 1000))
    for number in range(1000):
        contents.put(f"/{number}", page.stat(), bytes(10_000), 2000.0)
    kept = [number for number in range(1000) if contents.get(f"/{number}", page.stat()) is not None]
    assert 0 < len(kept) < 300 and kept[-1] == 999


def test_requests_of_one_turn_share_their_questions(tmp_path: Path) -> None:
    page, looks = tmp_path / "page.html", TickStatCache()
    page.write_text("one")
    looks.in_tick = True
    views = [Dependencies(looks) for _ in range(3)]
    first = views[0].stat(str(page))
    assert views[0].stat(str(tmp_path / "none")) is None
    page.unlink()
    (tmp_path / "none").write_text("there")
    assert views[1].stat(str(page)) is first and views[1].newest == views[0].newest
    assert views[1].stat(str(tmp_path / "none")) is None and views[1].errno == errno.ENOENT
    assert views[1].stats == views[0].stats
    assert views[1].lstat(str(page)) is None  # another question
    looks.in_tick = False
    assert views[2].stat(str(page)) is None and is_file(views[2].stat(str(tmp_path / "none")))


def test_edits_of_the_same_size_in_the_same_second_are_seen(tmp_path: Path) -> None:
    page, other, second = tmp_path / ".htaccess", tmp_path / "other", 1_600_000_000 * 10**9
    page.write_text("one")
    os.utime(page, ns=(second, second + 1))
    view = Dependencies()
    view.stat(str(page))
    page.write_text("two")
    os.utime(page, ns=(second, second + 2))
    assert not holds(view)
    os.utime(page, ns=(second, second + 1))
    view = Dependencies()
    view.stat(str(page))
    other.write_text("six")
    os.utime(other, ns=(second, second + 1))
    assert holds(view)
    other.replace(page)
    assert not holds(view)


def test_an_edit_whose_time_is_put_back_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("one")
    os.utime(page, (1_600_000_000, 1_600_000_000))
    view = Dependencies()
    before = view.stat(str(page))
    time.sleep(0.05)  # more than a tick of the kernel's clock
    page.write_text("two")
    os.utime(page, (1_600_000_000, 1_600_000_000))
    after = page.stat()
    assert before is not None and (before.st_mtime_ns, before.st_size, before.st_ino) == (
        after.st_mtime_ns,
        after.st_size,
        after.st_ino,
    )
    assert not holds(view)


def test_below_a_file_nothing_is_asked_until_it_is_a_folder(tmp_path: Path) -> None:
    page, view = tmp_path / "page", Dependencies()
    page.write_text("x")
    assert view.stat(str(page)) and view.stat(str(page / ".htaccess")) is None
    assert asked(view) == {("page", True)} and holds(view)
    page.unlink()
    page.mkdir()
    (page / ".htaccess").write_text("x")
    assert not holds(view)


def test_below_what_is_missing_nothing_is_asked_until_it_comes(tmp_path: Path) -> None:
    folder, view = tmp_path / "folder", Dependencies()
    assert (
        view.stat(str(folder / "page")) is None
        and view.stat(str(folder)) is None
        and view.stat(str(tmp_path / "none")) is None
    )
    assert asked(view) == {("folder", True), ("none", True)} and holds(view)
    folder.mkdir()
    (folder / "page").write_text("x")
    assert not holds(view)


def test_below_a_folder_what_is_missing_is_asked(tmp_path: Path) -> None:
    view = Dependencies()
    assert view.stat(str(tmp_path)) and view.stat(str(tmp_path / ".htaccess")) is None
    assert asked(view) == {(tmp_path.name, True), (".htaccess", True)}
    (tmp_path / ".htaccess").write_text("x")
    assert not holds(view)


def test_what_is_no_link_is_asked_once_until_it_is_one(tmp_path: Path) -> None:
    page, view = tmp_path / "page", Dependencies()
    page.write_text("x")
    assert (
        view.lstat(str(page))
        and view.stat(str(page))
        and view.lstat(str(tmp_path / "no")) is None
        and view.stat(str(tmp_path / "no")) is None
    )
    assert asked(view) == {("page", False), ("no", False)} and holds(view)
    page.rename(tmp_path / "moved")
    page.symlink_to("moved")  # stat(2) still describes the same file
    assert not holds(view)


def test_a_link_and_its_target_are_two_questions(tmp_path: Path) -> None:
    page, link, view = tmp_path / "page", tmp_path / "link", Dependencies()
    page.write_text("x")
    link.symlink_to("page")
    assert view.lstat(str(link)) and view.stat(str(link))
    assert asked(view) == {("link", False), ("link", True)}
    page.write_text("longer")
    assert not holds(view)


def test_a_file_that_can_not_be_reached_is_not_one_that_is_missing(tmp_path: Path) -> None:
    view = Dependencies()
    assert view.stat(str(tmp_path / ".htaccess")) is None
    (tmp_path / ".htaccess").symlink_to(".htaccess")
    assert not holds(view)
    loop = Dependencies()
    assert loop.stat(str(tmp_path / ".htaccess")) is None and loop.errno == errno.ELOOP and holds(loop)
    (tmp_path / ".htaccess").unlink()
    assert not holds(loop)


def test_answers_of_one_turn_share_what_they_depend_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, common = TickStatCache(), tmp_path / ".htaccess"
    common.write_text("x")
    views = [Dependencies(looks) for _ in range(3)]
    for number, view in enumerate(views):
        (tmp_path / str(number)).write_text("x")
        assert view.stat(str(common)) and view.stat(str(tmp_path / str(number)))
    count: list[bytes] = []
    real = os.stat

    def counted(path: bytes) -> os.stat_result:
        count.append(path)
        return real(path)

    monkeypatch.setattr(os, "stat", counted)
    assert all(holds(view, 7) for view in views) and len(count) == 4
    assert all(holds(view, 7) for view in views) and len(count) == 4
    common.write_text("longer")
    assert [holds(view, 8) for view in views] == [False] * 3
    assert [holds(view) for view in views] == [False] * 3


# Ticks --------------------------------------------------------------------------------------------
TICK = 4_000_000


@pytest.mark.parametrize(
    ("changed", "clock", "settled"),
    [
        (5 * TICK + 7, 5 * TICK + 7, False),
        (5 * TICK + 7, 6 * TICK + 7, True),
        (6 * TICK + 7, 5 * TICK + 7, False),
        (10**9, 2 * 10**9, False),
        (10**9, 3 * 10**9, False),
        (10**9, 3 * 10**9 + 1, True),
    ],
)
def test_two_changes_within_a_tick_have_the_same_time(changed: int, clock: int, settled: bool) -> None:
    """Kernels before 6.13 stamp files with the time of the last tick; ext3 and many network file systems keep
    whole seconds.
    """
    assert is_settled(changed, clock) is settled


def test_a_file_of_this_tick_is_not_settled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "a.txt"
    page.write_text("one")
    os.utime(page, (1000, 1000))
    changed = page.stat().st_ctime_ns
    for clock, settled in ((changed, False), (changed + TICK, True)):
        monkeypatch.setattr(files, "_clock", lambda _kind, clock=clock: clock)
        view = Dependencies()
        view.stat(str(page))
        assert view.is_settled(2000.0) is settled
        assert is_settled_file(page.stat()) is settled


def test_a_listing_stays_noted_when_its_folder_is_asked_for_again(tmp_path: Path) -> None:
    view = Dependencies()
    view.stat_directory(str(tmp_path))
    view.stat(str(tmp_path))
    notes = view.minimal()
    assert unchanged(notes, None)
    os.utime(tmp_path, (5, 5))
    (tmp_path / "new").touch()
    assert not unchanged(notes, None)


def test_the_device_is_a_part_of_a_mark(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    folder, page = tmp_path.stat(), (tmp_path / "a").stat()
    assert (stat_signature(folder) or ())[1] == folder.st_dev
    assert (stat_signature(page) or ())[-1] == content_signature(page)[-1] == page.st_dev
