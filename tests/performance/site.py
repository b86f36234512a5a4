"""A worker without sockets on the server root of the benchmark."""

from __future__ import annotations

import os
import types
from collections.abc import Iterator
from pathlib import Path

from tests.support.engine import start_engine
from tests.support.fakes import FakeTransport, LastWriteTransport
from tests.support.site import MTIME
from tests.support.worker import WorkerHarness
from whimbrel.config.model import ServerSpec
from whimbrel.server.http1.connection import Http1Connection
from whimbrel.server.worker.scoreboard import Scoreboard, ServerInfo, SharedScoreboard
from whimbrel.server.worker.worker import Worker
from whimbrel.testing.fake_runtime import FakeRuntime

NOW = 1_790_000_000.5
MODULES = (
    "mpm_event authn_core authn_file authz_core authz_user auth_basic mime dir include status "
    "autoindex rewrite env http2 reflector"
).split()
SSI = (
    '<!--#set var="a" value="b" --><!--#if expr="v(\'a\') == \'b\'" --><!--#include virtual="/1k.html" '
    "--><!--#endif -->\n"
)
UNCACHED_SSI = SSI + '<!--#echo var="DATE_LOCAL" -->\n'
RULES = "".join(f"RewriteRule ^/old{n}\\.html$ /1k.html [L]\n" for n in range(1000))


def configuration(root: Path) -> str:
    """Return a configuration with every kind of page that is counted."""
    loads = "".join(f"LoadModule {m}_module modules/mod_{m}.so\n" for m in MODULES)
    return f"""{loads}Listen 192.0.2.1:80
ServerName localhost
DocumentRoot "{root}/htdocs"
CustomLog "{root}/access_log" "%h %l %u %t \\"%r\\" %>s %b"
MaxKeepAliveRequests 0
Protocols h2c http/1.1
<Directory "/">
    AllowOverride None
</Directory>
<Directory "{root}/htdocs">
    Require all granted
    Options +Indexes +Includes +FollowSymLinks
    AddOutputFilter INCLUDES .shtml
</Directory>
<Directory "{root}/htdocs/private">
    AuthType Basic
    AuthName "x"
    AuthUserFile "{root}/passwd"
    Require valid-user
</Directory>
<Directory "{root}/htdocs/deep">
    AllowOverride All
</Directory>
<Location /server-status>
    SetHandler server-status
</Location>
<Location /reflect>
    SetHandler reflector
</Location>
<VirtualHost *:80>
    ServerName localhost
</VirtualHost>
<VirtualHost *:80>
    ServerName rules
    RewriteEngine On
{RULES}</VirtualHost>
"""


def lay_out(root: Path) -> None:
    """Write the documents and the configuration."""
    files = {
        "htdocs/1k.html": "x" * 1024,
        "htdocs/private/1k.html": "x" * 1024,
        "htdocs/deep/a/b/c/d/1k.html": "x" * 1024,
        "htdocs/page.shtml": SSI,
        "htdocs/clock.shtml": UNCACHED_SSI,
        "passwd": "bench:{SHA}kdy94uMKllPDlkpZtDPLJvfffX8=\n",
        "logs/.keep": "",
        "conf/mime.types": "text/html html shtml\n",
        **{
            f"htdocs/deep/{directory}.htaccess": "AddType text/html .html\nSetEnv A b\n"
            for directory in ("", "a/", "a/b/", "a/b/c/", "a/b/c/d/")
        },
        **{f"htdocs/list/document-{number:02}.html": "" for number in range(40)},
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for path in root.rglob("*"):
        os.utime(path, (MTIME, MTIME))
    (root / "httpd.conf").write_text(configuration(root))


class FixedClock(FakeRuntime):
    """A runtime whose clock stands still, so what is built once a second is built once."""

    def now(self) -> float:
        """Return a second of 2026."""
        return NOW


class BenchmarkWorker(WorkerHarness):
    """A worker on the benchmark's server root, with its scoreboard; `accept` opens one more connection."""

    transport_type = LastWriteTransport

    def __init__(self, root: Path) -> None:
        lay_out(root)
        super().__init__(start_engine(root, "httpd.conf", runtime=FixedClock()))
        self.engine.turns.length = float("inf")  # a profiler makes all work long
        board, life = SharedScoreboard(2), ServerInfo(MTIME, MTIME)
        generation = types.SimpleNamespace(spec=ServerSpec("/", threads=64), life=life, board=board)
        worker = Worker(generation, 0)  # type: ignore[arg-type]
        worker.service = self.service
        self.engine.runtime.scoreboard = Scoreboard(board, 0, life, worker.summary)
        self._ports = iter(range(40_000, 60_000))

    def accept(self) -> tuple[Http1Connection, FakeTransport]:
        """Return a connection that has just been accepted, and its transport."""
        return self.connect(("192.0.2.7", next(self._ports)))


def heads(path: str, *fields: str, varied: bool = False, host: str = "localhost") -> Iterator[bytes]:
    """Yield heads for *path* without end, with a new number for each ``#``."""
    number = 0
    while True:
        number += 1
        extra = "".join(f"{field}\r\n" for field in (*fields, *([f"Cookie: n={number}"] if varied else ())))
        yield (
            f"GET {path.replace('#', str(number))} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: wrk\r\n{extra}\r\n"
        ).encode()


def posts(path: str) -> Iterator[bytes]:
    """Yield requests with a body without end."""
    while True:
        yield f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbody".encode()
