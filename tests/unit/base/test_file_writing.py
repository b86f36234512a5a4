"""Writing by directory descriptors: within the tree, through no link that leaves it, in one step."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from whimbrel.base.file_writing import (
    ForeignLink,
    NotInTree,
    NotPrivate,
    Place,
    Tree,
    make_directories,
    write_named,
    write_over,
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A tree, beside files of others."""
    (tmp_path / "out/sub").mkdir(parents=True)
    (tmp_path / "out/victim").write_bytes(b"victim")
    (tmp_path / "tree/sub").mkdir(parents=True)
    (tmp_path / "tree/a").write_bytes(b"old")
    return tmp_path / "tree"


def replace(root: Path, name: str, *, is_open: bool = False) -> None:
    """Write one file."""
    with Tree(bytes(root), is_open=is_open).place(os.fsencode(root / name)) as place:
        place.replace(b"new")


def victim(root: Path) -> bytes:
    """The file of others."""
    return (root.parent / "out/victim").read_bytes()


def test_mode_and_owner_stay(root: Path) -> None:
    (root / "a").chmod(0o640)
    if os.geteuid() == 0:
        os.chown(root / "a", 12, 34)
    before = (root / "a").stat()
    replace(root, "a")
    after = (root / "a").stat()
    assert (root / "a").read_bytes() == b"new"
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert os.listdir(root) == ["sub", "a"] or sorted(os.listdir(root)) == ["a", "sub"]


def test_the_bits_of_a_program_do_not_stay(root: Path) -> None:
    """A hard link to a program of root must not give the new content its rights."""
    (root / "a").chmod(0o6755)
    replace(root, "a")
    assert stat.S_IMODE((root / "a").stat().st_mode) == 0o755


@pytest.mark.parametrize("link", ["a", "sub/../a", "./a", "sub/back"])
def test_links_within_the_tree_are_followed(link: str, root: Path) -> None:
    (root / "sub/back").symlink_to("../a")
    (root / "sites-enabled").mkdir()
    (root / "sites-enabled/x").symlink_to(f"../{link}")
    (root / "absolute").symlink_to(root / "sites-enabled/x")
    replace(root, "absolute")
    assert (root / "a").read_bytes() == b"new"
    assert (root / "absolute").is_symlink() and (root / "sites-enabled/x").is_symlink()


def test_links_out_of_the_tree_are_refused(root: Path) -> None:
    (root / "relative").symlink_to("../out/victim")
    (root / "absolute").symlink_to(root.parent / "out/victim")
    (root / "directory").symlink_to("../out")
    (root / "sub/twice").symlink_to("../relative")
    (root / "up").symlink_to("../../../../../../../../../../etc")
    for name in (
        "relative",
        "absolute",
        "directory/victim",
        "directory/sub/new",
        "sub/twice",
        "up/new",
        "../out/x",
    ):
        with pytest.raises(NotInTree, match="outside of"):
            replace(root, name)
    assert victim(root) == b"victim"
    assert sorted(os.listdir(root.parent / "out")) == ["sub", "victim"]


@pytest.mark.parametrize("is_first", [False, True])
def test_a_link_may_lead_from_one_top_into_the_one_around_it(root: Path, is_first: bool) -> None:
    """As from conf.d of a server to the directory of a package, where the user named the machine's copy."""
    (root / "sub/out").symlink_to("../a")
    tops = [bytes(root / "sub"), bytes(root)]
    with Tree(*(tops if is_first else tops[::-1])).place(bytes(root / "sub/out")) as place:
        assert place.path == bytes(root / "a")
    with pytest.raises(NotInTree):
        Tree(tops[0]).place(bytes(root / "sub/out"))


def test_outside_on_request(root: Path) -> None:
    (root / "link").symlink_to("../out/victim")
    replace(root, "link", is_open=True)
    assert victim(root) == b"new" and (root / "link").is_symlink()


def test_loops_end(root: Path) -> None:
    (root / "self").symlink_to("self")
    (root / "x").symlink_to("y")
    (root / "y").symlink_to("x/z")
    for name in ("self", "x", "y/a"):
        with pytest.raises(OSError) as caught:
            replace(root, name)
        assert caught.value.errno == errno.ELOOP


def test_a_link_that_comes_late_is_replaced_not_followed(root: Path) -> None:
    """The owner of the directory puts a link where the file was, between the look and the write."""
    with Tree(bytes(root)).place(bytes(root / "a")) as place:
        (root / "a").unlink()
        (root / "a").symlink_to("../out/victim")
        place.replace(b"new")
    assert victim(root) == b"victim" and not (root / "a").is_symlink()


def test_a_directory_that_becomes_a_link_is_not_entered(root: Path) -> None:
    (root / "sub/f").write_bytes(b"old")
    with Tree(bytes(root)).place(bytes(root / "sub/f")) as place:
        (root / "sub").rename(root / "moved")
        (root / "sub").symlink_to("../out")
        place.replace(b"new")
    assert (root / "moved/f").read_bytes() == b"new"
    assert sorted(os.listdir(root.parent / "out")) == ["sub", "victim"]


def test_strict_places_have_no_links(root: Path) -> None:
    (root / "link").symlink_to("sub")
    with pytest.raises(OSError) as caught:
        Tree(bytes(root)).place(bytes(root / "link/a"), follow=False)
    assert caught.value.errno in (errno.ELOOP, errno.ENOTDIR)


def test_a_planted_name_is_not_overwritten_by_create(root: Path) -> None:
    (root / "planted").symlink_to("../out/victim")
    with Tree(bytes(root)).place(bytes(root / "planted"), replaces_link=True) as place:
        with pytest.raises(FileExistsError):
            place.create(b"new", None)
    assert victim(root) == b"victim"


def test_directories_are_made_below_the_top_only(root: Path) -> None:
    with Tree(bytes(root), mode=0o700).place(bytes(root / "x/y/z"), create=True) as place:
        place.replace(b"new")
    assert (root / "x/y/z").read_bytes() == b"new"
    assert stat.S_IMODE((root / "x").stat().st_mode) == 0o700
    (root / "link").symlink_to("../out")
    with pytest.raises(OSError):
        Tree(bytes(root)).place(bytes(root / "link/made/z"), create=True)
    assert not (root.parent / "out/made").exists()


def test_a_failed_write_leaves_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        replace(root, "a")
    assert sorted(os.listdir(root)) == ["a", "sub"] and (root / "a").read_bytes() == b"old"


def test_no_descriptor_is_left(root: Path) -> None:
    (root / "out").symlink_to("../out/victim")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        replace(root, "a")
        with pytest.raises(NotInTree):
            replace(root, "out")
        with pytest.raises(FileNotFoundError):
            replace(root, "none/x/y")
    assert len(os.listdir("/proc/self/fd")) == before


def test_named_files_follow_links_and_devices_are_written_in_place(root: Path) -> None:
    (root / "link").symlink_to("a")
    write_named(bytes(root / "link"), b"named")
    assert (root / "a").read_bytes() == b"named" and (root / "link").is_symlink()
    write_named(b"/dev/null", b"x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_write_over_replaces_the_link(root: Path) -> None:
    (root / "pid").symlink_to("../out/victim")
    write_over(bytes(root / "pid"), b"1\n", 0o644)
    assert victim(root) == b"victim" and (root / "pid").read_bytes() == b"1\n"


def test_reading_of_a_place_follows_nothing(root: Path) -> None:
    with Tree(bytes(root)).place(bytes(root / "a")) as place:
        (root / "a").unlink()
        (root / "a").symlink_to("../out/victim")
        with pytest.raises(OSError):
            place.read()
        assert isinstance(place, Place)


def test_a_tree_stays_where_it_was_when_it_was_named(root: Path) -> None:
    """A link that comes to stand above it leads nowhere else."""
    tree = Tree(bytes(root / "sub"))
    made = Tree.create(bytes(root / "sub/made"))
    root.rename(root.with_name("moved"))
    root.symlink_to("out")
    with tree.place(bytes(root / "sub/new")) as place:
        place.replace(b"new")
    made.make_directory(bytes(root / "sub/made/below"))
    assert (root.parent / "moved/sub/new").read_bytes() == b"new"
    assert (root.parent / "moved/sub/made/below").is_dir() and not made.is_empty()
    assert list((root.parent / "out/sub").iterdir()) == []


def test_a_missing_top_is_named_when_it_is_used(root: Path) -> None:
    """It is missing for good: what comes to stand there is not what was named."""
    tree = Tree(bytes(root / "none"))
    (root / "none").symlink_to("../out")
    for _ in range(2):
        with pytest.raises(FileNotFoundError):
            tree.place(bytes(root / "none/victim"))


def test_the_step_between_making_and_entering_a_directory(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process replaces each new directory by a link at once."""
    make = os.mkdir

    def made_and_replaced(name: bytes, mode: int, *, dir_fd: int) -> None:
        make(name, mode, dir_fd=dir_fd)
        os.rmdir(name, dir_fd=dir_fd)
        os.symlink(root.parent / "out", name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "mkdir", made_and_replaced)
    for write in (
        lambda: Tree(bytes(root)).place(bytes(root / "new/victim"), create=True),
        lambda: Tree.create(bytes(root / "made/victim")),
        lambda: Tree(bytes(root)).make_directory(bytes(root / "below/sub")),
    ):
        with pytest.raises(OSError) as caught:
            write()
        assert caught.value.errno in (errno.ENOTDIR, errno.ELOOP)
    assert sorted(os.listdir(root.parent / "out")) == ["sub", "victim"]


@pytest.mark.parametrize("step", ["readlink", "open"])
def test_a_swap_at_each_step_of_the_walk(root: Path, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The directory becomes a link before or after the look at it."""
    function = getattr(os, step)
    steps = list[object]()

    def swapped(name: bytes, *arguments: int, dir_fd: int | None = None) -> object:
        if name == b"sub":
            steps.append(name)
            (root / "sub").rename(root / "moved")
            (root / "sub").symlink_to("../out")
        return function(name, *arguments, dir_fd=dir_fd)

    (root / "sub/victim").write_bytes(b"old")
    tree = Tree(bytes(root))
    monkeypatch.setattr(os, step, swapped)
    with pytest.raises(OSError) as caught:
        tree.place(bytes(root / "sub/victim"))
    assert steps and caught.value.errno in (errno.ENOTDIR, errno.EXDEV)
    assert victim(root) == b"victim"


def test_private_directories_are_the_users_alone(root: Path) -> None:
    tree = Tree.create(bytes(root / "home"), is_private=True)
    (root / "home/state").mkdir(0o700)
    (root / "home/state").chmod(0o770)
    with pytest.raises(NotPrivate, match="another user can write there") as caught:
        tree.place(bytes(root / "home/state/journal"))
    assert caught.value.directory == bytes(root / "home/state")
    (root / "home/state").chmod(0o755)
    tree.place(bytes(root / "home/state/journal")).close()


def test_directories_are_made_through_own_links(root: Path) -> None:
    (root / "link").symlink_to(root.parent / "out")
    (root / "top").symlink_to("link/sub")
    make_directories(bytes(root / "top/a/b"))
    make_directories(bytes(root / "top/a/b"))
    make_directories(bytes(root / "top"))
    assert (root.parent / "out/sub/a/b").is_dir()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to another user")
@pytest.mark.parametrize(("owner", "mode"), [(65534, 0o755), (0, 0o1777)])
def test_no_directory_is_made_through_the_link_of_another_user(owner: int, mode: int, root: Path) -> None:
    (root / "link").symlink_to(root.parent / "out")
    os.chown(root / "link", 65534, 65534, follow_symlinks=False)
    root.chmod(mode)
    os.chown(root, owner, owner)
    with pytest.raises(ForeignLink, match="a link in a directory of another user"):
        make_directories(bytes(root / "link/new"))
    make_directories(bytes(root / "sub/new"))
    assert sorted(os.listdir(root.parent / "out")) == ["sub", "victim"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to another user")
def test_the_link_of_another_user_leads_to_what_is_that_users(root: Path) -> None:
    """In a tree, as the top of one, and as a named file."""
    (root / "link").symlink_to("../out/victim")
    (root / "sub/own").symlink_to("../a")
    (root / "top").symlink_to("../out")
    for path in (root, root / "sub", root / "a", root / "link", root / "sub/own", root / "top"):
        os.chown(path, 65534, 65534, follow_symlinks=False)
    writes: tuple[Callable[[], object], ...] = (
        lambda: replace(root.parent, "tree/link"),
        lambda: replace(root, "link", is_open=True),
        lambda: replace(root / "top", "victim"),
        lambda: write_named(bytes(root / "link"), b"named"),
        lambda: write_over(bytes(root / "top/victim"), b"named"),
    )
    for write in writes:
        with pytest.raises(ForeignLink, match="what that user does not own"):
            write()
    assert victim(root) == b"victim"
    replace(root, "sub/own")
    assert (root / "a").read_bytes() == b"new"
    os.chown(root.parent / "out", 65534, 65534)
    replace(root / "top", "victim")
    assert victim(root) == b"new"


def test_a_device_that_becomes_a_link_is_not_overwritten(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The named file is no regular one when it is looked at, and a link when it is opened."""
    os.mkfifo(root / "pipe")
    look = Place.status

    def swapped(place: Place) -> os.stat_result | None:
        status = look(place)
        (root / "pipe").unlink()
        (root / "pipe").symlink_to("../out/victim")
        return status

    monkeypatch.setattr(Place, "status", swapped)
    with pytest.raises(OSError) as caught:
        write_named(bytes(root / "pipe"), b"named")
    assert caught.value.errno == errno.ELOOP and victim(root) == b"victim"
