"""A connection without a network: a worker's service on a server root of the benchmark's kind, fed by hand."""

from __future__ import annotations

import asyncio
import os
import types
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

from whimbrel.base.dialect import V24
from whimbrel.config.load import load
from whimbrel.config.model import ServerSpec
from whimbrel.config.options import LoadOptions
from whimbrel.engine.engine import Engine
from whimbrel.modules import ALL
from whimbrel.server.http1.protocol import HttpProtocol
from whimbrel.server.worker.scoreboard import Scoreboard, ServerInfo, SharedScoreboard
from whimbrel.server.worker.state import WorkerState
from whimbrel.server.worker.worker import Worker
from whimbrel.testing.fake_runtime import FakeRuntime

NOW = 1_790_000_000.5
MTIME = 1_600_000_000  # Sun, 13 Sep 2020 12:26:40 GMT
MODULES = "mpm_event authn_core authn_file authz_core authz_user auth_basic mime dir include status autoindex rewrite env http2".split()
SSI = '<!--#set var="a" value="b" --><!--#if expr="v(\'a\') == \'b\'" --><!--#include virtual="/1k.html" --><!--#endif -->\n'
UNKEPT_SSI = SSI + '<!--#echo var="DATE_LOCAL" -->\n'
RULES = "".join(f"RewriteRule ^/old{n}\\.html$ /1k.html [L]\n" for n in range(1000))


class Wire(asyncio.Transport):
    """A transport that takes everything at once; *out* is what was written last."""

    def __init__(self, port: int) -> None:
        super().__init__({"peername": ("192.0.2.7", port), "sockname": ("192.0.2.1", 80)})
        self.out = b""

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol

    def write(self, data: Any) -> None:
        self.out = bytes(data)

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        pass

    def is_closing(self) -> bool:
        return False

    def get_write_buffer_size(self) -> int:
        return 0


class Loop:
    """A loop whose turns are made by hand."""

    def __init__(self) -> None:
        self.soon: list[Any] = []

    def call_soon(self, work: Any, *arguments: Any) -> None:
        self.soon.append((work, arguments))

    def call_later(self, seconds: float, work: Any) -> None:
        return None

    def turn(self) -> None:
        """Do what was left for the next turn."""
        soon, self.soon = self.soon, []
        for work, arguments in soon:
            work(*arguments)


class Driving(Loop):
    """Tasks, none of which has to wait for anything."""

    def create_task(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            while True:
                work.send(None)
        except StopIteration:
            return


def configuration(root: Path) -> str:
    """Every kind of page that is counted."""
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
<VirtualHost *:80>
    ServerName localhost
</VirtualHost>
<VirtualHost *:80>
    ServerName rules
    RewriteEngine On
{RULES}</VirtualHost>
"""


def lay_out(root: Path) -> None:
    """The documents and the configuration."""
    files = {
        "htdocs/1k.html": "x" * 1024,
        "htdocs/private/1k.html": "x" * 1024,
        "htdocs/deep/a/b/c/d/1k.html": "x" * 1024,
        "htdocs/page.shtml": SSI,
        "htdocs/clock.shtml": UNKEPT_SSI,
        "passwd": "bench:{SHA}kdy94uMKllPDlkpZtDPLJvfffX8=\n",
        "logs/.keep": "",
        "conf/mime.types": "text/html html shtml\n",
        **{
            f"htdocs/deep/{folder}.htaccess": "AddType text/html .html\nSetEnv A b\n"
            for folder in ("", "a/", "a/b/", "a/b/c/", "a/b/c/d/")
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


class Still(FakeRuntime):
    """A world in which no time passes: what is made anew each second is made once."""

    def now(self) -> float:
        """A second of 2026."""
        return NOW


class Site:
    """The server; `connect` gives one more connection."""

    def __init__(self, root: Path) -> None:
        lay_out(root)
        self.engine = Engine(
            load(LoadOptions(server_root=str(root), file=str(root / "httpd.conf")), ALL, V24), Still()
        )
        self.loop = Loop()
        self.problems: list[BaseException] = []
        self.engine.turns.length = float("inf")  # a profiler makes all work long
        self.service = WorkerState(self.engine, self.loop, report=self.problems.append)  # type: ignore[arg-type]
        board, life = SharedScoreboard(2), ServerInfo(MTIME, MTIME)
        generation = types.SimpleNamespace(spec=ServerSpec("/", threads=64), life=life, board=board)
        worker = Worker(generation, 0)  # type: ignore[arg-type]
        worker.service = self.service
        self.engine.runtime.scoreboard = Scoreboard(board, 0, life, worker.summary)
        self._ports = iter(range(40_000, 60_000))

    def connect(self) -> tuple[HttpProtocol, Wire]:
        """A connection that has just been accepted, and its transport."""
        wire = Wire(next(self._ports))
        connection = HttpProtocol(self.service)
        connection.connection_made(wire)
        return connection, wire


def heads(path: str, *fields: str, varied: bool = False, host: str = "localhost") -> Iterator[bytes]:
    """Endless heads for *path*, ``#`` standing for a number that is never the same."""
    number = 0
    while True:
        number += 1
        extra = "".join(f"{field}\r\n" for field in (*fields, *([f"Cookie: n={number}"] if varied else ())))
        yield f"GET {path.replace('#', str(number))} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: wrk\r\n{extra}\r\n".encode()
