"""A request for expressions, without an engine."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from whimbrel.engine.deps.files import Dependencies
from whimbrel.http.semantics.headers import Headers


def record(head: dict[str, str] | None = None, **changes: Any) -> Any:
    """Return GET / from 127.0.0.1 with the fields of *head*; *changes* replace attributes."""
    fields = Headers()
    for name, value in (head or {}).items():
        fields.add(name, value)
    values: dict[str, Any] = {
        "head": None,
        "method": "GET",
        "uri": "/",
        "args": None,
        "filename": "/site/index.html",
        "path_info": None,
        "protocol": "HTTP/1.1",
        "the_request": "GET / HTTP/1.1",
        "status": 200,
        "handler": None,
        "content_type": None,
        "user": None,
        "auth_type": None,
        "mtime": None,
        "finfo": None,
        "headers_in": fields,
        "headers_out": Headers(),
        "err_headers_out": Headers(),
        "env": {},
        "notes": {},
        "main": None,
        "deps": Dependencies(),
        "connection": SimpleNamespace(client_ip="127.0.0.1", client_port=4711),
        "server": SimpleNamespace(admin="me@site.test"),
    }
    return SimpleNamespace(**(values | changes))


class StandIn:
    """whimbrel.expr.view.View over a `record`; *asked* holds the other values read, *lines* the debug
    lines.
    """

    def __init__(self, request: Any) -> None:
        self.request = request
        self.asked: list[str] = []
        self.lines: list[tuple[str, str]] = []
        self.time = 1_600_000_000.0
        self.statuses = {"/a": (200, True), "/missing": (200, False), "/closed": (403, True)}

    def client(self) -> str:
        self.asked.append("client")
        return str(self.request.connection.client_ip)

    def set_uncacheable(self) -> None:
        self.asked.append("outside")

    def now(self) -> float:
        self.asked.append("now")
        return self.time

    def remote_host(self) -> str:
        return str(self.request.connection.client_ip)

    def remote_ident(self) -> str:
        return ""

    def scheme(self) -> str:
        return "http"

    def has_tls(self) -> bool:
        return False

    def server_name(self) -> str:
        return "site.test"

    def server_port(self) -> int:
        return 8080

    def software(self) -> str:
        return "Whimbrel"

    def document_root(self) -> str:
        return "/site"

    def context_prefix(self) -> str:
        return "/al"

    def context_document_root(self) -> str:
        return "/elsewhere"

    def log_id(self, *, connection: bool) -> str:
        return "c1" if connection else "r1"

    def subrequest_status(self, target: str, *, by_file: bool) -> tuple[int, bool]:
        return self.statuses[target]

    def debug(self, text: str, code: str) -> None:
        self.lines.append((text, code))
