"""The variables ``%{NAME}``.  Manual: expr.html#vars."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from whimbrel.base.accounts import group_numbered, user_numbered
from whimbrel.expr.library import CLIENT, FILES, HEAD, NOTHING, TIME, UNCACHEABLE, USER, ExprVariable

if TYPE_CHECKING:
    from whimbrel.expr.evaluation import Evaluation

API_VERSION: Final = "20120211"


def _local(seconds: float) -> time.struct_time:
    return time.localtime(seconds)


def _stamp(when: time.struct_time) -> str:
    return time.strftime("%Y%m%d%H%M%S", when)


def _clock(form: Callable[[time.struct_time], str]) -> ExprVariable:
    return ExprVariable(lambda e: form(_local(e.view.now())), frozenset({TIME}))


def _last_modified(e: Evaluation) -> str:
    e.request.deps.on_path = True
    return _stamp(_local((e.request.mtime or 0) // 1_000_000))


def _owner(e: Evaluation) -> str | None:
    """Return the owner's name; without a file httpd uses uid 0."""
    info = e.request.finfo
    e.view.set_uncacheable()  # the account database can change undetected
    try:
        return user_numbered(info.st_uid if info is not None else 0).pw_name
    except KeyError:
        return None


def _group(e: Evaluation) -> str | None:
    info = e.request.finfo
    e.view.set_uncacheable()  # as above
    try:
        return group_numbered(info.st_gid if info is not None else 0).gr_name
    except KeyError:
        return None


def _on(value: bool) -> str:
    return "on" if value else "off"


def _peer(e: Evaluation) -> str:
    e.view.client()
    return str(e.request.connection.client_ip)


def _port(e: Evaluation) -> str:
    e.view.set_uncacheable()
    return str(e.request.connection.client_port)


def _head(read: Callable[[Evaluation], str | None]) -> ExprVariable:
    return ExprVariable(read)


def _path(read: Callable[[Evaluation], str | None]) -> ExprVariable:
    """Return a variable that depends on the URL's path, or on the file that it names."""

    def value(e: Evaluation) -> str | None:
        e.request.deps.on_path = True
        return read(e)

    return ExprVariable(value)


def _read(e: Evaluation, value: str) -> str:
    """Return a part of the request line; "" if the line was not parsed."""
    head = e.request.head
    return "" if head is not None and head.method is None else value


def _of(read: Callable[[Evaluation], str | None], *reads: str) -> ExprVariable:
    return ExprVariable(read, frozenset(reads))


def _field(name: str) -> ExprVariable:
    return ExprVariable(lambda e: e.field(name))


VARIABLES: Final[dict[str, ExprVariable]] = {
    # request fields; only these are variables, the others are read with req()
    "HTTP_ACCEPT": _field("Accept"),
    "HTTP_COOKIE": _field("Cookie"),
    "HTTP_FORWARDED": _field("Forwarded"),
    "HTTP_HOST": _field("Host"),
    "HTTP_PROXY_CONNECTION": _field("Proxy-Connection"),
    "HTTP_REFERER": _field("Referer"),
    "HTTP_USER_AGENT": _field("User-Agent"),
    # request
    "REQUEST_METHOD": _head(lambda e: _read(e, e.request.method)),
    "REQUEST_SCHEME": _head(lambda e: e.view.scheme()),
    "REQUEST_URI": _path(lambda e: _read(e, e.request.uri)),
    "DOCUMENT_URI": _path(lambda e: _read(e, e.request.uri)),
    "REQUEST_FILENAME": _path(lambda e: e.request.filename),
    "SCRIPT_FILENAME": _path(lambda e: e.request.filename),
    "PATH_INFO": _path(lambda e: e.request.path_info),
    "QUERY_STRING": _head(lambda e: e.request.args),
    "IS_SUBREQ": _head(lambda e: "true" if e.request.main is not None else "false"),
    "THE_REQUEST": _path(lambda e: e.request.the_request),
    "REQUEST_STATUS": _head(lambda e: str(e.request.status)),
    "HANDLER": _head(lambda e: e.request.handler),
    "CONTENT_TYPE": _head(lambda e: e.request.content_type),
    "AUTH_TYPE": _head(lambda e: e.request.auth_type),
    "LAST_MODIFIED": _of(_last_modified, FILES),
    "SCRIPT_USER": _of(_owner, FILES),
    "SCRIPT_GROUP": _of(_group, FILES),
    "CONTEXT_PREFIX": _head(lambda e: e.view.context_prefix()),
    "CONTEXT_DOCUMENT_ROOT": _head(lambda e: e.view.context_document_root()),
    "REQUEST_LOG_ID": _of(lambda e: e.view.log_id(connection=False), UNCACHEABLE),
    # client
    "REMOTE_ADDR": _of(lambda e: e.view.client(), CLIENT),
    "REMOTE_PORT": _of(_port, UNCACHEABLE),
    "REMOTE_HOST": _of(lambda e: e.view.remote_host(), CLIENT),
    "REMOTE_IDENT": _of(lambda e: e.view.remote_ident(), CLIENT),
    "REMOTE_USER": _of(lambda e: e.request.user, HEAD, USER),
    "CONN_REMOTE_ADDR": _of(_peer, CLIENT),
    "CONN_LOG_ID": _of(lambda e: e.view.log_id(connection=True), UNCACHEABLE),
    # server
    "SERVER_NAME": _head(lambda e: e.view.server_name()),
    "SERVER_PORT": _head(lambda e: str(e.view.server_port())),
    "SERVER_ADMIN": _head(lambda e: e.request.server.admin),
    "SERVER_PROTOCOL": _head(lambda e: e.request.protocol),
    "SERVER_SOFTWARE": _of(lambda e: e.view.software()),
    "DOCUMENT_ROOT": _head(lambda e: e.view.document_root()),
    "API_VERSION": ExprVariable(lambda _e: API_VERSION, NOTHING),
    "HTTPS": _head(lambda e: _on(e.view.has_tls())),
    "HTTP2": _head(lambda e: _on(e.request.protocol == "HTTP/2.0")),
    "IPV6": _of(lambda e: _on(":" in _peer(e) and not _peer(e).lower().startswith("::ffff:")), CLIENT),
    # clock, in local time
    "TIME": _clock(_stamp),
    "TIME_YEAR": _clock(lambda t: time.strftime("%Y", t)),
    "TIME_MON": _clock(lambda t: time.strftime("%m", t)),
    "TIME_DAY": _clock(lambda t: time.strftime("%d", t)),
    "TIME_HOUR": _clock(lambda t: time.strftime("%H", t)),
    "TIME_MIN": _clock(lambda t: time.strftime("%M", t)),
    "TIME_SEC": _clock(lambda t: time.strftime("%S", t)),
    "TIME_WDAY": _clock(lambda t: time.strftime("%w", t)),
}
"""Variables by name in upper case; names are case-insensitive."""
