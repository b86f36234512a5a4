"""The handler of the scheme uwsgi: one request, one back end (uwsgi_handler)."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final

from whimbrel.backends.uwsgi import UwsgiReader, request_bytes
from whimbrel.base.numbers import lower
from whimbrel.engine.request import Request
from whimbrel.http.client.answer import BackendError, ResponseHead
from whimbrel.http.http1.chunked import BodyError
from whimbrel.http.semantics.headers import Headers, single_length
from whimbrel.http.syntax.url import Slashes, unescape
from whimbrel.modules.core.filters_by_type import set_content_type
from whimbrel.modules.proxy.mod_proxy.backend import Route, WorkerBackend
from whimbrel.modules.proxy.mod_proxy.canonical_url import PREFIX
from whimbrel.modules.proxy.mod_proxy.program_exchange import (
    ProgramExchange,
    ProgramScheme,
    connection_of,
    refuse_chunked,
    serve,
)
from whimbrel.modules.proxy.mod_proxy.scheme import ProxyCall
from whimbrel.modules.proxy.mod_proxy_uwsgi.canonical import SCHEME
from whimbrel.modules.support.cgi.environment import add_cgi_vars, add_common_vars, overlap
from whimbrel.registry.phases import DECLINED, OK, HookStatus

_MODULE: Final = "proxy_uwsgi"
_SCHEME: Final = ProgramScheme(_MODULE, "uwsgi", "AH10101", flushes=True)
HOP_BY_HOP: Final = (
    "Connection",
    "Keep-Alive",
    "Proxy-Authenticate",
    "Proxy-Authorization",
    "TE",
    "Trailer",
    "Transfer-Encoding",
    "Upgrade",
)


def handle(call: ProxyCall) -> HookStatus | Awaitable[HookStatus]:
    """Answer `call.r` by a uwsgi application; DECLINED for URLs of other schemes."""
    r = call.r
    url = call.url
    if lower(url[: len(SCHEME)]) != SCHEME:
        r.log("debug", f"declining URL {url}", module=_MODULE)
        return DECLINED
    start = url.find("/", len(SCHEME))
    path = "/" if start < 0 else url[start:]
    info, status = unescape(path, Slashes.OFF)
    if status:
        r.log("error", f"unable to decode uwsgi uri: {url}", code="AH10100", module=_MODULE)
        return 500
    if r.filename == PREFIX + url:
        r.filename = PREFIX + (url if start < 0 else url[:start] + info)  # httpd decodes in place
    r.env["PATH_INFO"] = "/" + info.lstrip("/")
    return serve(call, _SCHEME, _exchange)


async def _exchange(call: ProxyCall, backend: WorkerBackend, route: Route) -> HookStatus:
    """Send the request and make the response of the answer."""
    r = call.r
    connection = await connection_of(call, _SCHEME, backend, route)
    if isinstance(connection, int):
        return connection
    exchange = ProgramExchange(call, _SCHEME, backend, route, connection)
    try:
        status = refuse_chunked(r)
        if status != OK:
            connection.close()
            return status
        await _add_variables(r)
        exchange.begin(UwsgiReader(), request_bytes(r.env.items(), exchange.server))
        if r.main is None and r.body_in.length:
            await exchange.send_body(bytes)
        head = await exchange.head()
    except BackendError as problem:
        if connection.reader is None:
            connection.close()
            exchange.log_reasons(problem)
        elif connection.is_stalled:
            return exchange.unsent("AH10098")
        else:
            exchange.log_failure(problem)
            exchange.abort()
        return problem.status
    except BodyError:
        r.log("error", "receiving request body failed", code="AH10099", module=_MODULE)
        exchange.abort()
        return 500
    except BaseException:
        exchange.abort()
        raise
    return _respond(exchange, head)


async def _add_variables(r: Request) -> None:
    """Add the variables of the request; SCRIPT_NAME is without the path that the application serves.

    httpd takes as many characters from its end as PATH_INFO has, and none if it has fewer.
    """
    add_common_vars(r)
    await add_cgi_vars(r)
    credentials = r.headers_in.get("Authorization")
    if credentials is not None:
        overlap(r.env, {"HTTP_AUTHORIZATION": credentials})
    script = r.env.get("SCRIPT_NAME")
    path = r.env.get("PATH_INFO")
    if script is not None and path is not None:
        if path != "/" and len(path) <= len(script):
            r.env["SCRIPT_NAME"] = script[: len(script) - len(path)]
        elif path == script == "/":
            r.env["SCRIPT_NAME"] = ""


def _respond(exchange: ProgramExchange, head: ResponseHead) -> HookStatus:
    """Make the response of an answer whose head has arrived."""
    r = exchange.r
    fields = head.fields
    r.status = head.status
    r.status_line = None if head.reason is None else f"{head.status:03d} {head.reason}"
    r.chunked = True  # httpd learns the end of the body after its first bytes
    out = Headers()
    out.extend(r.headers_out.entries().values())
    out.extend(fields.entries().values())
    length = single_length(fields.get_all("Content-Length"))
    if length is not None:
        out.set("Content-Length", length)
    for name in HOP_BY_HOP:
        if name in out:
            r.log("debug", f"uwsgi: removing hop-by-hop header '{name}'", module=_MODULE)
            out.unset(name)
    r.headers_out = out
    kind = fields.get("Content-Type")
    if kind is not None:
        set_content_type(r, kind)
    if exchange.call.dir_conf.overrides(head.status):
        r.status = 200
        r.status_line = None
        exchange.abort()
        return head.status
    exchange.take_body()
    return OK
