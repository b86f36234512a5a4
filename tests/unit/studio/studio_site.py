"""A small configuration of 2.2 with three virtual hosts, and a studio that works on it."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from whimbrel.base.latin1 import from_system
from whimbrel.config.options import LoadOptions
from whimbrel.studio.analysis import Analysis
from whimbrel.studio.api import TOKEN_FIELD, StudioApi, StudioRequest, StudioResponse
from whimbrel.studio.nursery import start_nursery
from whimbrel.studio.page import StaticFile
from whimbrel.studio.process import serve
from whimbrel.studio.session import StudioSession
from whimbrel.upgrade.source.reading import Sources

PORT = 8765
ORIGIN = f"http://127.0.0.1:{PORT}"
LOADS = "".join(
    f"LoadModule {name}_module modules/mod_{name}.so\n"
    for name in ("authz_host", "authn_file", "authz_user", "auth_basic", "alias", "dir", "mime", "rewrite")
)
MAIN = """ServerRoot "@ROOT@"
Listen 80
@LOADS@ServerName www.example.org
TypesConfig conf/mime.types
DefaultType None
DocumentRoot "@ROOT@/htdocs"
<Directory "@ROOT@/htdocs">
    Order allow,deny
    Allow from all
</Directory>
NameVirtualHost *:80
Include conf/hosts/*.conf
"""
HOST = """<VirtualHost *:80>
    ServerName h@N@.example.org
    DocumentRoot "@ROOT@/htdocs"
    <Location /closed>
        Order deny,allow
        Deny from all
        Allow from 10.@N@.0.0/16
    </Location>
</VirtualHost>
"""
MARKUP = '<img src=x onerror="document.title=1">'


def write_site(root: Path, hosts: int = 3) -> Path:
    """Write the configuration below *root*; return its main file."""
    (root / "conf/hosts").mkdir(parents=True, exist_ok=True)
    (root / "htdocs").mkdir(exist_ok=True)
    (root / "conf/mime.types").write_text("text/html html\n")
    (root / "htdocs/index.html").write_text("hello\n")
    main = root / "conf/httpd.conf"
    main.write_text(MAIN.replace("@LOADS@", LOADS).replace("@ROOT@", str(root)))
    for number in range(hosts):
        text = HOST.replace("@N@", str(number)).replace("@ROOT@", str(root))
        (root / f"conf/hosts/{number:04}.conf").write_text(text)
    return main


def sources_of(root: Path) -> Sources:
    """Return what `whimbrel studio ROOT` reads."""
    return Sources(options=LoadOptions(server_root=from_system(str(root)), file="conf/httpd.conf"))


def analysis_of(root: Path) -> Analysis:
    """Return the jobs for the configuration below *root*."""
    return Analysis(sources_of(root))


class Studio:
    """A studio without a server: requests go to its API."""

    def __init__(self, control: socket.socket) -> None:
        self.session = StudioSession(control, "conf/httpd.conf")
        self.api = StudioApi(self.session, PORT, {"/": StaticFile(b"<!doctype html>", "text/html")})

    def fields(self, **changed: str) -> dict[str, str]:
        """Return the fields of a request of the page, with *changed* ones; "" leaves one out."""
        fields = {
            "host": f"127.0.0.1:{PORT}",
            "origin": ORIGIN,
            "content-type": "application/json",
            TOKEN_FIELD.lower(): self.session.token,
            **{name.replace("_", "-"): value for name, value in changed.items()},
        }
        return {name: value for name, value in fields.items() if value}

    async def respond(self, method: str, arguments: object = None, **changed: str) -> StudioResponse:
        """Return the response to a call of the API."""
        body = json.dumps(arguments or {}).encode()
        request = StudioRequest("POST", f"/api/{method}", self.fields(**changed), body)
        return await self.api.respond(request)

    async def call(self, method: str, **arguments: object) -> dict[str, object]:
        """Return the document of a call of the API that succeeds."""
        response = await self.respond(method, arguments)
        document: dict[str, object] = json.loads(response.body)
        assert response.status == 200, document
        return document

    async def refused(self, method: str, **arguments: object) -> tuple[int, str]:
        """Return status and sentence of a call of the API that is refused."""
        response = await self.respond(method, arguments)
        assert response.status >= 400, response.body
        return response.status, str(json.loads(response.body)["error"])


@contextmanager
def studio_of(root: Path) -> Iterator[Studio]:
    """Yield a studio with processes of analysis, which end with it."""
    control, _hello = start_nursery(lambda: (lambda connection: serve(connection, analysis_of(root)), b"x"))
    try:
        yield Studio(control)
    finally:
        control.close()


def run(coroutine: object) -> object:
    """Run a coroutine to its end."""
    return asyncio.run(coroutine)  # type: ignore[arg-type]
