"""The request as expressions see it.

`Record` is the part that whimbrel.engine.request.Request has as it stands; `View` adds what only the engine can say.  Texts hold one character per
byte.
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
    """One request for the time of one evaluation; what is asked here is noted, so that a finished answer is kept only as long as it holds."""

    request: RequestRecord

    def client(self) -> str:
        """The client's address; the answer then depends on it."""

    def set_uncacheable(self) -> None:
        """The value depends on something that can't be noted."""

    def now(self) -> float:
        """Seconds since the epoch."""

    def remote_host(self) -> str:
        """The client's name where look-ups are on, else its address."""

    def remote_ident(self) -> str:
        """What identd says of the client; "" without it."""

    def scheme(self) -> str: ...

    def server_name(self) -> str:
        """The name for URLs that lead back here, IPv6 addresses in brackets."""

    def server_port(self) -> int: ...

    def software(self) -> str:
        """What the server calls itself."""

    def document_root(self) -> str: ...

    def context_prefix(self) -> str:
        """The URL path of the Alias that applies, "" without one."""

    def context_document_root(self) -> str:
        """The folder that the context prefix stands for."""

    def log_id(self, *, connection: bool) -> str:
        """The log's identifier of the request or the connection; "" where the log needs none."""

    def subrequest_status(self, target: str, *, by_file: bool) -> tuple[int, bool]:
        """The status of a sub-request for a URL path or a file name, and whether it found a file."""

    def debug(self, text: str, code: str) -> None:
        """Write an error-log line at level debug."""
