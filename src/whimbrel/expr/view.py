"""Interface of expressions to the request.

`RequestRecord` is the part that whimbrel.engine.request.Request implements; `View` adds what only the engine
provides.  Texts have one character per byte.
"""

from __future__ import annotations

import os
from typing import Any, Protocol


class RequestRecord(Protocol):
    """The request: names and meanings are those of httpd's request_rec."""

    method: str
    uri: str
    args: str | None
    filename: str | None
    path_info: str | None
    protocol: str
    the_request: str | None
    status: int
    handler: str | None
    content_type: str | None
    user: str | None
    auth_type: str | None
    mtime: int | None
    finfo: os.stat_result | None
    head: Any
    headers_in: Any
    headers_out: Any
    err_headers_out: Any
    env: dict[str, str]
    notes: dict[str, str]
    main: Any
    connection: Any
    server: Any
    deps: Any


class View(Protocol):
    """One request during one evaluation; what is read here is recorded as a dependency of the response."""

    request: RequestRecord

    def client(self) -> str:
        """Return the client's address; the response then depends on it."""

    def set_uncacheable(self) -> None:
        """Mark the response as uncacheable: the value depends on something that cannot be recorded."""

    def now(self) -> float:
        """Return seconds since the epoch."""

    def remote_host(self) -> str:
        """Return the client's name with HostnameLookups, else its address."""

    def remote_ident(self) -> str:
        """Return identd's reply; "" without it."""

    def scheme(self) -> str: ...

    def has_tls(self) -> bool:
        """Return True if the client's connection uses TLS."""

    def server_name(self) -> str:
        """Return the name for self-referential URLs, IPv6 addresses in brackets."""

    def server_port(self) -> int: ...

    def software(self) -> str:
        """Return the server's product token."""

    def document_root(self) -> str: ...

    def context_prefix(self) -> str:
        """Return the URL path of the Alias that applies, "" without one."""

    def context_document_root(self) -> str:
        """Return the directory of the context prefix."""

    def log_id(self, *, connection: bool) -> str:
        """Return the log's identifier of the request or the connection; "" if none was needed."""

    def subrequest_status(self, target: str, *, by_file: bool) -> tuple[int, bool]:
        """Return the status of a sub-request for a URL path or a file name; True if it found a file."""

    def debug(self, text: str, code: str) -> None:
        """Write an error-log line at level debug."""
