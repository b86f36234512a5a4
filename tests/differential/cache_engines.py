"""Two workers of one configuration in this process: one with its response cache, one that empties it before
each request.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.differential.cache_grammar import MODULES
from tests.support.fakes import EagerTaskLoop, FakeLoop, FakeTransport
from whimbrel.base.dialect import Dialect
from whimbrel.base.errors import ConfigError, StartError
from whimbrel.config.configuration import Configuration
from whimbrel.config.load import load
from whimbrel.config.options import LoadOptions
from whimbrel.engine.engine import Engine
from whimbrel.modules import ALL
from whimbrel.server.http1.connection import Http1Connection
from whimbrel.server.worker.state import WorkerState
from whimbrel.testing.fake_runtime import FakeRuntime

MTIME: Final = 1_600_000_000  # Sun, 13 Sep 2020 12:26:40 GMT
BEGIN: Final = 1_790_000_000.5
SERVER: Final = ("127.0.0.1", 8080)
OTHERS: Final = re.compile(rb"(?<=[sr]id#)[0-9a-f]+")  # numbers that two servers have no reason to agree on
BASE: Final = """ServerName localhost
LimitInternalRecursion 3
Listen 127.0.0.1:8080
DocumentRoot "@/htdocs"
TypesConfig conf/mime.types
RewriteMap tm txt:@/conf/map.txt
RewriteMap lo int:tolower
RewriteMap un int:unescape
AddHandler type-map .var
AddHandler imap-file .map
AddHandler send-as-is .asis
ExtFilterDefine UP cmd="/usr/bin/tr a-z A-Z"
AddLanguage en .en
AddLanguage de .de
"""
OPEN: Final = {
    "2.4": '<Directory "@/htdocs">\nAllowOverride All\nRequire all granted\n'
    "Options +FollowSymLinks +Includes\nAddOutputFilter INCLUDES .shtml\n"
    '</Directory>\n<Directory "@/users">\nRequire all granted\n</Directory>\n<Directory "@/hosts">\n'
    "Require all granted\n</Directory>\n"
    "<Location /status>\nSetHandler server-status\n</Location>\n<Location /info>\nSetHandler server-info\n"
    "</Location>\n",
    "2.2": '<Directory "@/htdocs">\nAllowOverride All\nOptions +FollowSymLinks +Includes\n'
    "AddOutputFilter INCLUDES .shtml\n</Directory>\n"
    "<Location /status>\nSetHandler server-status\n</Location>\n",
}
SSI: Final = """<!--#set var="q" value="$QUERY_STRING" --><!--#echo var="q" -->
<!--#if expr="$HTTP_COOKIE = /k=one/" -->cookie<!--#endif --><!--#include virtual="/a.txt?own" -->
"""
FILES: Final = {
    "htdocs/index.html": "front\n",
    "htdocs/a.txt": "plain a\n" * 40,
    "htdocs/b.txt": "plain b\n",
    "htdocs/c.html": "<p>c</p>\n",
    "htdocs/page.html.en": "english\n",
    "htdocs/page.html.de": "deutsch\n",
    "htdocs/dir/index.html": "dir\n",
    "htdocs/dir/a.txt": "dir a\n",
    "htdocs/dir/c.html": "dir c\n",
    "htdocs/dir/sub/a.txt": "dir sub a\n",
    "htdocs/list/one.txt": "1\n",
    "htdocs/list/two.html": "<title>t</title>2\n",
    "htdocs/list/b/x.txt": "x\n",
    "htdocs/list/README.html": "read\n",
    "htdocs/map.var": "URI: page.html.en\nContent-Type: text/html\nContent-Language: en\n\n"
    "URI: page.html.de\nContent-Type: text/html\nContent-Language: de\n",
    "htdocs/ssi.shtml": (
        '<!--#echo var="REMOTE_ADDR" --> <!--#echo var="e1" --><!--#include virtual="/dir/a.txt" -->\n'
    ),
    "htdocs/ssi2.shtml": SSI,
    "htdocs/asis.asis": "Status: 200 Fine\nContent-Type: text/plain\nX-As: is\n\nas it is\n",
    "htdocs/img.map": "base referer\ndefault nocontent\nrect one.html 1,1 5,5\npoint two.html 9,9\n",
    "htdocs/odd.foo": "odd\n",
    "htdocs/x.act": "act\n",
    "htdocs/err.html": "error\n",
    "htdocs/err.shtml": (
        '<!--#echo var="REDIRECT_STATUS" --> <!--#echo var="REQUEST_URI" --> <!--#printenv -->\n'
    ),
    "htdocs/two.txt": "two\n",
    "htdocs/one": "uno\n",
    "htdocs/cern/a.txt": "meta\n",
    "htdocs/cern/.web/a.txt.meta": "X-Meta: yes\n",
    "htdocs/members/a.txt": "members\n",
    "users/alice/html/index.html": "alice\n",
    "users/alice/html/a.txt": "alice a\n",
    "hosts/vh.test/a.txt": "vh a\n",
    "hosts/localhost/a.txt": "lh a\n",
    "hosts/vh.test/index.html": "vh\n",
    "conf/users": "alice:{SHA}kdy94uMKllPDlkpZtDPLJvfffX8=\n",
    "conf/map.txt": "one two\ntwo b\nk=one a\n",
    "conf/mime.types": "text/html html shtml\ntext/plain txt\ntext/foo foo\n",
    "conf/magic": "0 string plain text/magic\n",
    "logs/.keep": "",
}


def lay_out(root: Path) -> None:
    """The documents and what belongs to them, as old as each other."""
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for path in root.rglob("*"):
        os.utime(path, (MTIME, MTIME))


def loads(root: Path, dialect: Dialect) -> str:
    """The LoadModule lines that a dialect accepts."""
    good: list[str] = []
    for name in MODULES:
        line = f"LoadModule {name}_module modules/mod_{name}.so\n"
        (root / "conf/try.conf").write_text("".join(good) + line)
        try:
            load(LoadOptions(server_root=str(root), file="conf/try.conf"), ALL, dialect)
        except ConfigError:
            continue
        except StartError:
            pass
        good.append(line)
    return "".join(good)


def configured(
    root: Path, dialect: Dialect, preamble: str, blocks: list[str], base: str = ""
) -> tuple[Configuration, list[str]] | None:
    """The configuration of *base* and as many of *blocks* as are accepted, and those; None where it can't
    start.
    """
    left = [block.replace("@", str(root)) for block in blocks]
    head = (preamble + (base or BASE + OPEN[dialect.name])).replace("@", str(root))
    while True:
        starts, text = [], head
        for block in left:
            starts.append(text.count("\n") + 1)
            text += block + "\n"
        (root / "conf/httpd.conf").write_text(text, "latin-1")
        try:
            return load(LoadOptions(server_root=str(root)), ALL, dialect), left
        except ConfigError as problem:
            line = 0 if problem.place is None else problem.place.line
            at = sum(start <= line for start in starts) - 1
            if at < 0:
                raise
            del left[at]
        except StartError:
            return None


class ClockedRuntime(FakeRuntime):
    """Logs in memory, and a clock that is set by hand."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock
        self.names = {"127.0.0.2": "two.test", "127.0.0.4": "four.test"}
        self.hosts = {"two.test": ["127.0.0.2"], "localhost": ["127.0.0.1"]}

    def now(self) -> float:
        return self.clock.now


@dataclass
class Clock:
    """The time that it is for both workers, and the unique id of what they do at this *step*."""

    now: float = BEGIN
    step: int = 0

    def unique_id(self, *_: object) -> str:
        """Return the id of a request, for `IdGenerator.next`."""
        return f"Uid-{self.step:09}-"


class ClientTransport(FakeTransport):
    """The transport of a client at *source*."""

    def __init__(self, source: str, port: int) -> None:
        super().__init__((source, port), SERVER)


@dataclass
class Pair:
    """A client's connections to both workers."""

    kept: tuple[Http1Connection, ClientTransport]
    made: tuple[Http1Connection, ClientTransport]
    sent: list[bytes] = field(default_factory=list)

    @property
    def open(self) -> bool:
        """Return True if both accept one more request."""
        return all(
            one[0].state.name == "READY" and not one[1].is_closed and not one[0].input.buffer
            for one in (self.kept, self.made)
        )

    @property
    def same(self) -> bool:
        """Return True if both are in the same state."""
        (one, first), (other, second) = self.kept, self.made
        return (one.state, first.is_closed, one.input.buffer, one.connection.served) == (
            other.state,
            second.is_closed,
            other.input.buffer,
            other.connection.served,
        )


class CachingWorker:
    """One worker."""

    def __init__(self, configuration: Configuration, clock: Clock, loop: FakeLoop | None = None) -> None:
        self.runtime = ClockedRuntime(clock)
        self.engine = Engine(configuration, self.runtime)
        self.loop = loop or EagerTaskLoop()
        self.service = WorkerState(self.engine, self.loop, report=self.fail)  # type: ignore[arg-type]
        self.service.round = float("inf")
        self._count = 0

    def be_busy(self) -> None:
        """Let two of three requests come in a busy tick."""
        self._count += 1
        self.service.is_busy = self._count % 3 > 0

    def fail(self, problem: BaseException) -> None:
        raise problem

    def connect(self, source: str, port: int) -> tuple[Http1Connection, ClientTransport]:
        wire = ClientTransport(source, port)
        connection = Http1Connection(self.service)
        connection.connection_made(wire)
        return connection, wire

    def ask(
        self, at: tuple[Http1Connection, ClientTransport], data: bytes
    ) -> tuple[bytes, dict[str, list[bytes]]]:
        """Return the bytes written, and the lines of all logs."""
        connection, wire = at
        self.runtime.logs.clear()
        wire.out = b""
        self.be_busy()
        self.loop.run(connection.data_received, data)
        self.loop.run(self.service.write_gathered)
        return wire.out, {name: list(lines) for name, lines in self.runtime.logs.items()}

    def forget(self) -> None:
        """Empty all caches of responses, and those that responses are built from."""
        engine = self.engine
        engine.response_cache.clear()
        engine.file_cache.__init__()  # type: ignore[misc]
        engine.error_pages.clear()
        engine.head_templates.clear()


def masked(out: bytes, logs: dict[str, list[bytes]]) -> tuple[bytes, list[tuple[str, bytes]]]:
    """Mask the parts of response and log lines that differ from server to server."""
    lines = [(name, OTHERS.sub(b"N", line)) for name in sorted(logs) for line in logs[name]]
    return OTHERS.sub(b"N", out), lines
