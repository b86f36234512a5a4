"""Changes on disk and in the account database: an answer that was cached before the change equals that of a server without a cache after it.

As root the servers answer as another user, so that permissions count."""

from __future__ import annotations

import os
import pwd
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.differential.kept_engines import BEGIN, Clock, Server, masked
from tests.hostile.measure import Budget, Measure, Result
from whimbrel.config.load import load
from whimbrel.config.options import LoadOptions
from whimbrel.dialect import V24
from whimbrel.modules import ALL
from whimbrel.server import answering, service
from whimbrel.server.imports import import_everything

NOBODY: Final = 65534
OLD: Final = 1_600_000_000  # the time of all files before a change
MODULES: Final = (
    "mpm_event authn_core authn_file authz_core authz_host authz_user authz_groupfile auth_basic alias autoindex dir env headers "
    "include info mime negotiation rewrite setenvif speling userdir expires cern_meta asis"
).split()
CONF: Final = """ServerName localhost
Listen 127.0.0.1:8080
DocumentRoot "@/htdocs"
TypesConfig conf/mime.types
AddHandler type-map .var
AddHandler send-as-is .asis
AddLanguage en .en
AddLanguage de .de
AddLanguage fr .fr
AddOutputFilter INCLUDES .shtml
RewriteEngine on
RewriteMap tm txt:@/conf/map.txt
RewriteRule ^/map/(.*) /${tm:$1|none.txt}
RewriteCond %{DOCUMENT_ROOT}/exists -f
RewriteRule ^/cond /a.txt
UserDir public_html
ErrorDocument 404 /err.html
AliasMatch "^/alias/(.*)" "@/other/$1"
<Directory "@">
AllowOverride All
Require all granted
Options +Indexes +FollowSymLinks +Includes +MultiViews
DirectoryIndex index.html index.htm second.txt
</Directory>
<Directory "@/htdocs/speling">
CheckSpelling On
Options -MultiViews
</Directory>
<Directory "@/htdocs/strict">
Options -FollowSymLinks +SymLinksIfOwnerMatch
</Directory>
<Directory "@/htdocs/private">
AuthType Basic
AuthName p
AuthUserFile @/conf/users
AuthGroupFile @/conf/groups
Require group staff
</Directory>
<Directory "@/htdocs/tag">
FileETag INode MTime Size
</Directory>
<If "-f '@/htdocs/flag'">
Header set X-Flag on
</If>
"""
FILES: Final = {
    "htdocs/a.txt": "plain a\n",
    "htdocs/index.html": "front\n",
    "htdocs/dir/second.txt": "second\n",
    "htdocs/dir/sub/a.txt": "deep\n",
    "htdocs/list/one.txt": "1\n",
    "htdocs/page.html.en": "english\n",
    "htdocs/page.html.de": "deutsch\n",
    "htdocs/speling/Right.txt": "r\n",
    "htdocs/speling/mark.txt": "m\n",
    "htdocs/inc.shtml": '<!--#include virtual="/a.txt" --><!--#include file="part.html" -->\n',
    "htdocs/part.html": "part\n",
    "htdocs/err.html": "error\n",
    "htdocs/strict/a.txt": "strict\n",
    "htdocs/private/a.txt": "private\n",
    "htdocs/tag/a.txt": "tag\n",
    "htdocs/map.var": "URI: page.html.en\nContent-Type: text/html\nContent-Language: en\n\n"
    "URI: page.html.de\nContent-Type: text/html\nContent-Language: de\n",
    "htdocs/as.asis": "Content-Type: text/plain\n\nas\n",
    "htdocs/ht/a.txt": "ht\n",
    "htdocs/ht/.htaccess": "Header set X-One 1\n",
    "other/a.txt": "other\n",
    "other/b/a.txt": "other b\n",
    "htdocs/size.shtml": '<!--#fsize file="part.html" --> <!--#flastmod file="part.html" -->\n',
    "htdocs/flat": "flat\n",
    "conf/mime.types": "text/html html shtml htm\ntext/plain txt\n",
    "conf/users": "u:{SHA}kdy94uMKllPDlkpZtDPLJvfffX8=\n",
    "conf/groups": "staff: u\n",
    "conf/map.txt": "one a.txt\ntwo index.html\n",
    "home/u/public_html/a.txt": "home u\n",
    "home/v/public_html/a.txt": "home v\n",
    "logs/.keep": "",
}
PRIVATE: Final = "Authorization: Basic dTp3b25kZXI="
# What is asked before and after each change: target and fields.
REQUESTS: Final = tuple(
    (target, fields)
    for target, fields in (
        ("/a.txt", ()),
        ("/a.txt", ("Range: bytes=1-3",)),
        ("/a.txt", ('If-None-Match: "8-x"',)),
        ("/", ()),
        ("/dir/", ()),
        ("/dir/sub/a.txt", ()),
        ("/list/", ()),
        ("/list", ()),
        ("/page.html", ()),
        ("/page.html", ("Accept-Language: de",)),
        ("/page.html", ("Accept-Language: fr",)),
        ("/page", ()),
        ("/speling/right.txt", ()),
        ("/speling/marc.txt", ()),
        ("/inc.shtml", ()),
        ("/size.shtml", ()),
        ("/none", ()),
        ("/strict/a.txt", ()),
        ("/private/a.txt", (PRIVATE,)),
        ("/private/a.txt", ()),
        ("/tag/a.txt", ()),
        ("/map.var", ()),
        ("/map.var", ("Accept-Language: de",)),
        ("/as.asis", ()),
        ("/ht/a.txt", ()),
        ("/alias/a.txt", ()),
        ("/alias/b/a.txt", ()),
        ("/~u/a.txt", ()),
        ("/~v/a.txt", ()),
        ("/~w/a.txt", ()),
        ("/map/one", ()),
        ("/map/three", ()),
        ("/cond", ()),
        ("/flat/more", ()),
        ("/link.txt", ()),
        ("/linked/a.txt", ()),
        ("/flat", ()),
        ("/exists", ()),
    )
)


@dataclass
class Ground:
    """The files under *root*, the accounts, and chance."""

    root: Path
    chance: random.Random
    homes: dict[str, str] = field(default_factory=dict)
    elsewhere: Path | None = None  # a folder on another file system

    def path(self, *names: str) -> Path:
        """One of *names*, below the root."""
        return self.root / self.chance.choice(names)

    def write(self, name: str, text: str, seconds: float | None = OLD) -> None:
        """A file with *text*, as old as all others unless *seconds* says otherwise; None: as young as it is."""
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
    """Other bytes, as many; the time of the last change stays."""
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
    """Two files of one size and time change places."""
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
    """A link from one file system to another, where a file has the same size and time."""
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
    """The same size and time, another value."""
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


def lay_out(root: Path) -> None:
    """All files as they are before a change."""
    for child in root.iterdir():
        if child.is_dir() and not child.is_symlink():
            for path in child.rglob("*"):
                if path.is_dir() and not path.is_symlink():
                    path.chmod(0o755)
            shutil.rmtree(child)
        else:
            child.unlink()
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "htdocs/link.txt").symlink_to("a.txt")
    (root / "htdocs/linked").symlink_to("dir/sub")
    for path in root.rglob("*"):
        os.utime(path, (OLD, OLD), follow_symlinks=False)
    (root / "conf/httpd.conf").write_text(
        "".join(f"LoadModule {m}_module modules/mod_{m}.so\n" for m in MODULES) + CONF.replace("@", str(root))
    )


@contextmanager
def _ground(chance: random.Random) -> Iterator[tuple[Ground, Clock]]:
    """Files, accounts and clock of one measure."""
    root = Path(tempfile.mkdtemp(prefix="whimbrel-stale-"))
    root.chmod(0o755)
    elsewhere = (
        Path(tempfile.mkdtemp(prefix="whimbrel-stale-", dir="/dev/shm"))
        if os.path.isdir("/dev/shm")
        else None
    )
    if elsewhere is not None and elsewhere.stat().st_dev == root.stat().st_dev:
        elsewhere.rmdir()
        elsewhere = None
    ground, clock = Ground(root, chance, elsewhere=elsewhere), Clock(max(BEGIN, time.time() + 10))
    real, times = pwd.getpwnam, [(module, module.time) for module in (service, answering)]

    def entry(name: str) -> pwd.struct_passwd:
        if name in ("u", "v", "w"):
            return pwd.struct_passwd((name, "x", 1, 1, "", ground.homes[name], ""))
        return real(name)

    pwd.getpwnam = entry
    for module, _real in times:
        module.time = lambda: clock.now  # type: ignore[attr-defined]
    try:
        yield ground, clock
    finally:
        pwd.getpwnam = real
        for module, before in times:
            module.time = before  # type: ignore[attr-defined]
        shutil.rmtree(root, ignore_errors=True)
        if elsewhere is not None:
            shutil.rmtree(elsewhere, ignore_errors=True)


def _server(root: Path, clock: Clock) -> Server:
    configuration = load(LoadOptions(server_root=str(root)), ALL, V24)
    import_everything(configuration)  # what another user than root may not be able to read
    return Server(configuration, clock)


def _ask(
    server: Server, target: str, fields: tuple[str, ...], clock: Clock
) -> tuple[bytes, list[tuple[str, bytes]]]:
    clock.now += 0.001
    server_user = os.geteuid()
    if server_user == 0:
        os.seteuid(NOBODY)  # permissions say nothing to root
    try:
        return _exchange(server, target, fields)
    finally:
        os.seteuid(server_user)


def _exchange(server: Server, target: str, fields: tuple[str, ...]) -> tuple[bytes, list[tuple[str, bytes]]]:
    lines = (f"GET {target} HTTP/1.1", "Host: localhost", *fields, "", "")
    connection = server.connect("127.0.0.1", 4000)
    out, logs = server.ask(connection, "\r\n".join(lines).encode("latin-1"))
    server.loop.turn()
    out = connection[1].out or out
    return masked(out, logs)


def run(budget: Budget) -> Result:
    """Answer twice, change, and compare the next answer with that of a server that has just started."""
    result, checks, stale = Result(), 0, 0
    names = list(CHANGES)
    with _ground(budget.random) as (ground, clock):
        number = 0
        while checks < budget.cases and not budget.is_spent:
            name = names[number % len(names)]
            number += 1
            lay_out(ground.root)
            ground.homes = {"u": str(ground.root / "home/u"), "v": str(ground.root / "home/v")}
            if ground.elsewhere is not None and name == "link to another file system":
                (ground.root / "htdocs/link.txt").unlink()
                ground.write("htdocs/link.txt", "there a\n")
            warm = _server(ground.root, clock)
            for _ in range(3):
                for target, fields in REQUESTS:
                    _ask(warm, target, fields, clock)
            fresh = _server(
                ground.root, clock
            )  # has read its configuration, as the other one, and nothing else
            CHANGES[name](ground)
            for target, fields in REQUESTS:
                checks += 1
                before = clock.now
                got = _ask(warm, target, fields, clock)
                clock.now = before
                if got != (wanted := _ask(fresh, target, fields, clock)):
                    stale += 1
                    shown = f"{got[0][:60]!r} {got[1]!r}, without a cache {wanted[0][:60]!r} {wanted[1]!r}"
                    result.failures.append(f"{name}: {target} {' '.join(fields)}: {shown}")
    result.figures = {"kinds of changes": min(number, len(names)), "checks": checks, "stale": stale}
    return result


MEASURES = (
    Measure(
        "stale",
        "After a change on disk or in the account database no cached answer is given that a new server would not give.",
        run,
        cases=9000,
        seconds=600.0,
    ),
)
