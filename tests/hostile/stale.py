"""Changes on disk and in the account database invalidate cached responses.

A response after the change equals that of a server without cache. As root the servers run as another user, so
that permissions count.
"""

from __future__ import annotations

import os
import pwd
import random
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType
from typing import Final

from tests.differential.cache_engines import BEGIN, CachingWorker, Clock, masked
from tests.hostile.changes_on_disk import CHANGES, OLD, Ground
from tests.hostile.measure import Budget, Measure, Result
from whimbrel.base.dialect import V24
from whimbrel.config.load import load
from whimbrel.config.options import LoadOptions
from whimbrel.modules import ALL
from whimbrel.server.master.preload import import_everything
from whimbrel.server.worker import accounting, state

NOBODY: Final = 65534
_SEARCHED: Final[set[CodeType]] = set()  # code of an earlier server, whose imports are done
MODULES: Final = (
    "mpm_event authn_core authn_file authz_core authz_host authz_user authz_groupfile auth_basic alias "
    "autoindex dir env headers "
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
# Requests before and after each change: target and fields.
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


def lay_out(root: Path) -> None:
    """Write all files in their state before a change."""
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
    """Yield files, accounts and clock of one measure."""
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
    real, times = pwd.getpwnam, [(module, module.time) for module in (state, accounting)]

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


def _server(root: Path, clock: Clock) -> CachingWorker:
    configuration = load(LoadOptions(server_root=str(root)), ALL, V24)
    import_everything(configuration, _SEARCHED)  # another user than root may be unable to read them later
    return CachingWorker(configuration, clock)


def _ask(
    server: CachingWorker, target: str, fields: tuple[str, ...], clock: Clock
) -> tuple[bytes, list[tuple[str, bytes]]]:
    clock.now += 0.001
    server_user = os.geteuid()
    if server_user == 0:
        os.seteuid(NOBODY)  # root ignores permissions
    try:
        return _exchange(server, target, fields)
    finally:
        os.seteuid(server_user)


def _exchange(
    server: CachingWorker, target: str, fields: tuple[str, ...]
) -> tuple[bytes, list[tuple[str, bytes]]]:
    lines = (f"GET {target} HTTP/1.1", "Host: localhost", *fields, "", "")
    connection = server.connect("127.0.0.1", 4000)
    out, logs = server.ask(connection, "\r\n".join(lines).encode("latin-1"))
    server.loop.tick()
    out = connection[1].out or out
    return masked(out, logs)


def run(budget: Budget) -> Result:
    """Respond twice, change, and compare the next response with that of a server that has just started."""
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
            for _ in range(4):
                for target, fields in REQUESTS:
                    _ask(warm, target, fields, clock)
            # it has read its configuration only, as the other one
            fresh = _server(ground.root, clock)
            fresh.engine.is_general_only = True
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
        "After a change on disk or in the account database no cached answer is given that a new server "
        "would not give.",
        run,
        cases=9000,
        seconds=600.0,
    ),
)
