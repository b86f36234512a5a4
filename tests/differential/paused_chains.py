"""Chains of content filters behind sources that pause, on a live server."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple, Self

from tests.differential.paused_sources import PausedBackend, PausedScripts, Received, receive
from tests.differential.servers import Program
from tests.differential.site import GeneratedSite, ServerProcess, documents

MODULES: Final = (
    "deflate brotli filter substitute sed buffer data charset_lite xml2enc proxy_html ratelimit case_filter "
    "bucketeer ext_filter lua cgid proxy proxy_http proxy_fcgi http2"
)
FILTERS: Final = (
    *("DEFLATE", "BROTLI_COMPRESS", "INFLATE", "SUBSTITUTE", "Sed", "INCLUDES", "BUFFER", "DATA", "XLATEOUT"),
    *("xml2enc", "proxy-html", "RATE_LIMIT", "CaseFilter", "BUCKETEER", "CAT", "LUA"),
)
SOURCES: Final = ("http", "gzip", "cgi", "fcgi", "ssi", "lua")
PARALLEL: Final = 24
CONF: Final = """Protocols h2c http/1.1
ThreadsPerChild 64
MaxRequestWorkers 64
ServerLimit 1
ScriptSock %BASE%/cgisock
LogLevel warn
ExtFilterDefine CAT cmd=/bin/cat
LuaOutputFilter LUA %BASE%/same.lua same
Options +Includes +ExecCGI
CharsetSourceEnc iso-8859-1
CharsetDefault iso-8859-2
CharsetOptions NoImplicitAdd
ProxyPassMatch "^/(?:http|gzip)/[^/]+/(.*)$" "http://127.0.0.1:%HTTP%/$1"
ProxyPassMatch "^/fcgi/[^/]+/(.*)$" "fcgi://127.0.0.1:%FCGI%/$1" flushpackets=on
ScriptAliasMatch "^/(?:cgi|inner)/" "%BASE%/paused.cgi"
LuaMapHandler "^/lua/" "%BASE%/paused.lua" handle
AliasMatch "^/ssi/" "%BASE%/page.html"
<Directory "%BASE%">
Require all granted
Options +Includes +ExecCGI
Substitute s/begun/started/
OutputSed "s/begun/started/"
SetEnv rate-limit 400
</Directory>
<Location "/">
Substitute s/begun/started/
OutputSed "s/begun/started/"
SetEnv rate-limit 400
</Location>
"""
LUA: Final = (
    "function same(r)\ncoroutine.yield()\nwhile bucket ~= nil do\ncoroutine.yield(bucket)\nend\nend\n"
)
PAGE: Final = b'<p>page</p>\n<!--#include virtual="/inner/x?$QUERY_STRING" -->\n'
Chain = tuple[str, ...]


class Job(NamedTuple):
    """One request: filters in their order, the kind of the source, and the protocol of the client."""

    chain: Chain
    source: str
    http2: bool


def all_chains() -> list[Chain]:
    """Return each filter, and each pair of filters in both orders."""
    return [*((name,) for name in FILTERS), *itertools.permutations(FILTERS, 2)]


class PausedSite(ServerProcess):
    """Process of *program* that serves the sources through each of *chains*; a context manager.

    *more*: directives behind the others.
    """

    def __init__(self, program: Program, base: Path, chains: Iterable[Chain], more: str = "") -> None:
        root = base / f"site-{program.name}"
        root.mkdir()
        base.chmod(0o755)
        documents(root)
        (root / "same.lua").write_text(LUA)
        (root / "page.html").write_bytes(PAGE)
        self._scripts, self._backend = PausedScripts(root), PausedBackend()
        text = "".join(f"LoadModule {m}_module {program.module_dir}/mod_{m}.so\n" for m in MODULES.split())
        text += CONF.replace("%HTTP%", str(self._backend.http_port))
        for chain in chains:
            place = "-".join(chain)
            for source, first in (("[a-z]+", ""), ("ssi", "INCLUDES;")):
                text += f'<LocationMatch "^/{source}/{place}/">\nSetOutputFilter {first}{";".join(chain)}\n'
                text += "</LocationMatch>\n"
        text = (text + more).replace("%FCGI%", str(self._backend.fcgi_port))
        super().__init__(program, GeneratedSite(text), root)
        self._number = itertools.count()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._backend.__enter__()
        super().__enter__()
        self.receive_all([Job((), source, http2) for source in SOURCES for http2 in (False, True)])
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self._backend.__exit__(*error)

    def errors(self) -> str:
        """Return the error log."""
        return (self.logs / "error_log").read_text("latin-1")

    def receive(self, job: Job) -> Received:
        """Send one request; see `receive`."""
        with self._lock:
            key = f"n{next(self._number)}"
        origin = self._scripts if job.source in ("cgi", "ssi", "lua") else self._backend
        path = f"/{job.source}/{'-'.join(job.chain) or 'NONE'}/{job.source}?{key}"
        return receive(self.port, path, origin.pause(key), http2=job.http2)

    def receive_all(self, jobs: Iterable[Job]) -> list[Received]:
        """Send the requests side by side."""
        with ThreadPoolExecutor(PARALLEL) as pool:
            return list(pool.map(self.receive, (Job(*job) for job in jobs)))
