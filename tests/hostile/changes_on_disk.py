"""Kinds of changes on disk and in the account database, and the changed files."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

OLD: Final = 1_600_000_000  # the time of all files before a change


@dataclass
class Ground:
    """The files under *root*, the accounts, and a random generator."""

    root: Path
    chance: random.Random
    homes: dict[str, str] = field(default_factory=dict)
    elsewhere: Path | None = None  # directory on another file system

    def path(self, *names: str) -> Path:
        """Return one of *names*, below the root."""
        return self.root / self.chance.choice(names)

    def write(self, name: str, text: str, seconds: float | None = OLD) -> None:
        """Write a file with *text* and the time *seconds*, by default that of all others; None: now."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if seconds is not None:
            os.utime(path, (seconds, seconds))


Change = Callable[[Ground], None]
DOCUMENTS: Final = (
    "htdocs/a.txt",
    "htdocs/index.html",
    "htdocs/dir/second.txt",
    "htdocs/dir/sub/a.txt",
    "htdocs/page.html.en",
    "htdocs/part.html",
    "htdocs/err.html",
    "htdocs/strict/a.txt",
    "htdocs/private/a.txt",
    "htdocs/tag/a.txt",
    "htdocs/ht/a.txt",
    "other/a.txt",
    "home/u/public_html/a.txt",
    "htdocs/as.asis",
    "htdocs/map.var",
    "htdocs/inc.shtml",
)
HTACCESS: Final = (
    "htdocs/.htaccess",
    "htdocs/dir/.htaccess",
    "htdocs/dir/sub/.htaccess",
    "htdocs/list/.htaccess",
    "htdocs/ht/.htaccess",
    "other/.htaccess",
    "htdocs/speling/.htaccess",
    "home/u/public_html/.htaccess",
    "htdocs/strict/.htaccess",
)
SETTINGS: Final = (
    "Header set X-One 2\n",
    "Require all denied\n",
    "Redirect /a.txt /b.txt\n",
    "nonsense\n",
    "ForceType text/x\n",
    "Options -Indexes\n",
    "DirectoryIndex a.txt\n",
    "ErrorDocument 404 gone\n",
    "RewriteEngine on\nRewriteRule a.txt - [G]\n",
    "CheckSpelling off\n",
)
FOLDERS: Final = (
    "htdocs/dir",
    "htdocs/dir/sub",
    "htdocs/list",
    "htdocs/speling",
    "htdocs/strict",
    "htdocs/private",
    "htdocs/ht",
    "other",
    "other/b",
    "home/u/public_html",
    "home/u",
    "htdocs/tag",
)


def _other_letters(g: Ground, path: Path) -> bytes:
    data = bytearray(path.read_bytes())
    if data:
        data[g.chance.randrange(len(data) - 1)] = g.chance.choice(b"xyz")
    return bytes(data)


def rewrite_equal_size(g: Ground) -> None:
    """Write other bytes of the same size; the modification time stays."""
    path = g.path(*DOCUMENTS)
    before = path.stat()
    path.write_bytes(_other_letters(g, path))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def rewrite_twice(g: Ground) -> None:
    rewrite_equal_size(g)
    rewrite_equal_size(g)


def rewrite(g: Ground) -> None:
    g.path(*DOCUMENTS).write_text("longer " * g.chance.randint(1, 9) + "\n")


def replace_by_rename(g: Ground) -> None:
    path = g.path(*DOCUMENTS)
    fresh = path.with_name(".fresh")
    fresh.write_bytes(_other_letters(g, path))
    before = path.stat()
    os.utime(fresh, ns=(before.st_atime_ns, before.st_mtime_ns))
    fresh.rename(path)


def exchange(g: Ground) -> None:
    """Swap two files of one size and time."""
    one, two, spare = g.root / "htdocs/page.html.en", g.root / "htdocs/page.html.de", g.root / "spare"
    one.rename(spare)
    two.rename(one)
    spare.rename(two)


def remove(g: Ground) -> None:
    g.path(*DOCUMENTS).unlink()


def empty(g: Ground) -> None:
    g.path(*DOCUMENTS).write_bytes(b"")


def append(g: Ground) -> None:
    with g.path(*DOCUMENTS).open("ab") as file:
        file.write(b"more\n")


def truncate(g: Ground) -> None:
    os.truncate(g.path(*DOCUMENTS), 2)


def touch(seconds: float) -> Change:
    def change(g: Ground) -> None:
        os.utime(g.path(*DOCUMENTS), (seconds, seconds))

    return change


def chmod(mode: int, *names: str) -> Change:
    def change(g: Ground) -> None:
        g.path(*names).chmod(mode)

    return change


def chown(*names: str) -> Change:
    def change(g: Ground) -> None:
        os.chown(g.path(*names), g.chance.randint(1, 60000), -1)

    return change


def file_for_folder(g: Ground) -> None:
    path = g.path("htdocs/dir/sub", "htdocs/list", "htdocs/speling", "other/b")
    shutil.rmtree(path)
    path.write_text("now a file\n")


def folder_for_file(g: Ground) -> None:
    path = g.path(*DOCUMENTS)
    path.unlink()
    path.mkdir()


def link_for_file(g: Ground) -> None:
    path = g.path(*DOCUMENTS)
    target = path.with_name("target-of-link")
    path.rename(target)
    path.symlink_to(target.name)


def dangling(g: Ground) -> None:
    path = g.path(*DOCUMENTS)
    path.unlink()
    path.symlink_to("nowhere")


def hard_link(g: Ground) -> None:
    path = g.path(*DOCUMENTS)
    path.unlink()
    os.link(g.root / "htdocs/flat", path)


def write_through_hard_link(g: Ground) -> None:
    other = g.root / "second-name"
    os.link(g.path(*DOCUMENTS), other)
    other.write_text("through the other name\n")


def switch_link(name: str, *targets: str) -> Change:
    def change(g: Ground) -> None:
        link = g.root / name
        link.unlink(missing_ok=True)
        link.symlink_to(g.root / g.chance.choice(targets))

    return change


def switch_file_system(g: Ground) -> None:
    """Switch a link to another file system with a file of the same size and time."""
    if g.elsewhere is None:
        return
    link = g.root / "htdocs/link.txt"
    there = g.elsewhere / "link.txt"
    there.write_text("there b\n")
    os.utime(there, (OLD, OLD))
    link.unlink(missing_ok=True)
    link.symlink_to(there)


def swap_folders(g: Ground) -> None:
    one, two, spare = g.root / "htdocs/dir", g.root / "htdocs/list", g.root / "spare"
    one.rename(spare)
    two.rename(one)
    spare.rename(two)


def move_folder(g: Ground) -> None:
    path = g.path(*FOLDERS)
    path.rename(path.with_name("moved"))


def remove_folder(g: Ground) -> None:
    shutil.rmtree(g.path(*FOLDERS))


def link_for_folder(g: Ground) -> None:
    path = g.path(*FOLDERS)
    moved = path.with_name("moved")
    path.rename(moved)
    path.symlink_to(moved.name)


def add(*names: str, text: str = "new\n") -> Change:
    def change(g: Ground) -> None:
        g.write(str(g.path(*names).relative_to(g.root)), text)

    return change


def add_htaccess(g: Ground) -> None:
    g.write(g.chance.choice(HTACCESS), g.chance.choice(SETTINGS))


def edit_htaccess(g: Ground) -> None:
    """Write another value with the same size and time."""
    g.write("htdocs/ht/.htaccess", "Header set X-One 3\n")


def edit_htaccess_twice(g: Ground) -> None:
    edit_htaccess(g)
    g.write("htdocs/ht/.htaccess", "Header set X-One 4\n")


def htaccess_link(g: Ground) -> None:
    g.write("conf/shared", "Header set X-Shared 1\n")
    path = g.path(*HTACCESS)
    path.unlink(missing_ok=True)
    path.symlink_to(g.root / "conf/shared")


def htaccess_folder(g: Ground) -> None:
    path = g.path(*HTACCESS)
    path.unlink(missing_ok=True)
    path.mkdir()


def remove_htaccess(g: Ground) -> None:
    (g.root / "htdocs/ht/.htaccess").unlink()


def accounts(**homes: str | None) -> Change:
    def change(g: Ground) -> None:
        for name, home in homes.items():
            if home is None:
                g.homes.pop(name, None)
            else:
                g.homes[name] = str(g.root / home)

    return change


def _both(*changes: Change) -> Change:
    def change(g: Ground) -> None:
        for one in changes:
            one(g)

    return change


CHANGES: Final[dict[str, Change]] = {
    "equal size, time kept": rewrite_equal_size,
    "twice within a tick": rewrite_twice,
    "rewritten": rewrite,
    "renamed over": replace_by_rename,
    "two exchanged": exchange,
    "removed": remove,
    "emptied": empty,
    "appended": append,
    "truncated": truncate,
    "touched back": touch(OLD - 5),
    "touched to now": lambda g: g.path(*DOCUMENTS).touch(),
    "touched ahead": touch(4_000_000_000),
    "touched to 1970": touch(0),
    "touched by a nanosecond": lambda g: os.utime(g.path(*DOCUMENTS), ns=(0, OLD * 10**9 + 1)),
    "file without permissions": chmod(0, *DOCUMENTS),
    "file executable": chmod(0o755, *DOCUMENTS),
    "file of a group": chmod(0o640, *DOCUMENTS),
    "folder without permissions": chmod(0, *FOLDERS),
    "folder not searchable": chmod(0o644, *FOLDERS),
    "folder not readable": chmod(0o711, *FOLDERS),
    "root without permissions": chmod(0, "htdocs"),
    "owner of a file": chown(*DOCUMENTS),
    "owner of a folder": chown(*FOLDERS),
    "owner of a home": chown("home/u"),
    "file for a folder": file_for_folder,
    "folder for a file": folder_for_file,
    "link for a file": link_for_file,
    "dangling link": dangling,
    "hard link": hard_link,
    "through a hard link": write_through_hard_link,
    "link to a file": switch_link("htdocs/link.txt", *DOCUMENTS),
    "link to a folder": switch_link("htdocs/linked", *FOLDERS),
    "link to nothing": switch_link("htdocs/link.txt", "nowhere"),
    "link to another file system": switch_file_system,
    "link of a home": switch_link("home/w", "home/u", "home/v"),
    "link into a loop": switch_link("htdocs/linked", "htdocs/linked"),
    "folders swapped": swap_folders,
    "folder moved": move_folder,
    "folder removed": remove_folder,
    "folder a link": link_for_folder,
    "variant added": add("htdocs/page.html.fr", "htdocs/page.txt", "htdocs/page.html.en.txt"),
    "variant for none": add("htdocs/none.html", "htdocs/none.txt"),
    "variant removed": lambda g: (g.root / "htdocs/page.html.de").unlink(),
    "variant is a folder": lambda g: (g.root / "htdocs/page.html.fr").mkdir(),
    "variant unreadable": chmod(0, "htdocs/page.html.de"),
    "exact file beside variants": add("htdocs/page.html", "htdocs/page"),
    "variant of an index": add("htdocs/dir/index.html.de", "htdocs/dir/index.html"),
    "variant a map": add("htdocs/page.html.var", text="URI: a.txt\n"),
    "index added": add("htdocs/dir/index.html", "htdocs/dir/index.htm", "htdocs/list/index.html"),
    "index folder": lambda g: (g.root / "htdocs/dir/index.html").mkdir(),
    "index removed": lambda g: (g.root / "htdocs/dir/second.txt").unlink(),
    "listing grows": add("htdocs/list/two.txt"),
    "listing shrinks": lambda g: (g.root / "htdocs/list/one.txt").unlink(),
    "listing README": add("htdocs/list/README.html", "htdocs/list/HEADER.html"),
    "listing entry changes": lambda g: (g.root / "htdocs/list/one.txt").write_text("longer than before\n"),
    "htaccess added": add_htaccess,
    "htaccess edited": edit_htaccess,
    "htaccess edited twice": edit_htaccess_twice,
    "htaccess removed": remove_htaccess,
    "htaccess unreadable": chmod(0, "htdocs/ht/.htaccess"),
    "htaccess a link": htaccess_link,
    "htaccess a folder": htaccess_folder,
    "htaccess of the parent": add("htdocs/.htaccess", text="Header set X-Top 1\n"),
    "htaccess outside the root": add(".htaccess", text="Header set X-Up 1\n"),
    "htaccess emptied": lambda g: g.write("htdocs/ht/.htaccess", ""),
    "htaccess touched": lambda g: os.utime(g.root / "htdocs/ht/.htaccess"),
    "htaccess broken, then good": _both(lambda g: g.write("htdocs/ht/.htaccess", "bad\n"), edit_htaccess),
    "password changed": lambda g: g.write("conf/users", "u:{SHA}2jmj7l5rSw0yVb/vlWAYkK/YBwk=\n"),
    "user removed": lambda g: g.write("conf/users", ""),
    "password file removed": lambda g: (g.root / "conf/users").unlink(),
    "password file unreadable": chmod(0, "conf/users"),
    "group changed": lambda g: g.write("conf/groups", "staff: v\n"),
    "group removed": lambda g: g.write("conf/groups", "other: u\n"),
    "group file removed": lambda g: (g.root / "conf/groups").unlink(),
    "group file of equal size": lambda g: g.write("conf/groups", "staff: w\n"),
    "passwords of equal size": lambda g: g.write("conf/users", "w:{SHA}kdy94uMKllPDlkpZtDPLJvfffX8=\n"),
    "home changed": accounts(u="home/v"),
    "home added": accounts(w="home/u"),
    "user of a home removed": accounts(u=None),
    "homes exchanged": accounts(u="home/v", v="home/u"),
    "home is nowhere": accounts(u="nowhere"),
    "home without pages": lambda g: shutil.rmtree(g.root / "home/u/public_html"),
    "home closed": chmod(0o700, "home/u"),
    "home added on disk": _both(add("home/w/public_html/a.txt"), accounts(w="home/w")),
    "error document changed": lambda g: g.write("htdocs/err.html", "other\n"),
    "error document removed": lambda g: (g.root / "htdocs/err.html").unlink(),
    "error document is a folder": _both(
        lambda g: (g.root / "htdocs/err.html").unlink(), lambda g: (g.root / "htdocs/err.html").mkdir()
    ),
    "error page for an error": add("htdocs/none"),
    "included file changed": lambda g: g.write("htdocs/part.html", "trap\n"),
    "included file removed": lambda g: (g.root / "htdocs/part.html").unlink(),
    "included page changed": lambda g: g.write("htdocs/a.txt", "plain b\n"),
    "included file grows": lambda g: g.write("htdocs/part.html", "part and more\n"),
    "included file touched": lambda g: os.utime(g.root / "htdocs/part.html", (OLD + 90, OLD + 90)),
    "including page changed": lambda g: g.write("htdocs/inc.shtml", "now without\n"),
    "type map changed": lambda g: g.write("htdocs/map.var", "URI: a.txt\nContent-Type: text/plain\n"),
    "type map empty": lambda g: g.write("htdocs/map.var", ""),
    "type map names a variant that goes": lambda g: (g.root / "htdocs/page.html.en").unlink(),
    "media types are not read again": lambda g: g.write("conf/mime.types", "text/other txt html\n"),
    "spelling: the right name appears": add("htdocs/speling/right.txt"),
    "spelling: a second candidate": add("htdocs/speling/RIGHT.txt", "htdocs/speling/march.txt"),
    "spelling: the candidate goes": lambda g: (g.root / "htdocs/speling/Right.txt").unlink(),
    "spelling: renamed in case": lambda g: (g.root / "htdocs/speling/Right.txt").rename(
        g.root / "htdocs/speling/rIght.txt"
    ),
    "map file changed": lambda g: g.write("conf/map.txt", "one index.html\nthree a.txt\n"),
    "map file removed": lambda g: (g.root / "conf/map.txt").unlink(),
    "map file of equal size": lambda g: g.write("conf/map.txt", "one b.txt\ntwo index.html\n"),
    "file of a condition": add("htdocs/exists"),
    "file of an <If>": add("htdocs/flag"),
    "condition a folder": lambda g: (g.root / "htdocs/exists").mkdir(),
    "path info gets a folder": _both(lambda g: (g.root / "htdocs/flat").unlink(), add("htdocs/flat/more")),
    "path info loses its file": lambda g: (g.root / "htdocs/flat").unlink(),
    "aliased file": lambda g: g.write("other/a.txt", "OTHER\n"),
    "aliased folder": lambda g: shutil.rmtree(g.root / "other/b"),
    "sent as is, changed": lambda g: g.write("htdocs/as.asis", "Content-Type: text/html\n\nas\n"),
    "meta file": add("htdocs/.web/a.txt.meta", text="X-Meta: 1\n"),
    "a socket": lambda g: _fifo(g),
    "nothing": lambda g: None,
}


def _fifo(g: Ground) -> None:
    path = g.path(*DOCUMENTS)
    path.unlink()
    os.mkfifo(path)
