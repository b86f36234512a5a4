"""The scheme scgi: canonical URLs, and one request to one back end (scgi_canon, scgi_handler)."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final, cast

from whimbrel.backends.scgi import ScgiReader, request_bytes
from whimbrel.base.numbers import lower
from whimbrel.engine.request import Request
from whimbrel.http.client.answer import BackendError, ResponseHead
from whimbrel.http.http1.chunked import BodyError
from whimbrel.http.semantics.headers import Headers
from whimbrel.modules.proxy.mod_proxy.backend import Route, WorkerBackend
from whimbrel.modules.proxy.mod_proxy.canonical_url import (
    PREFIX,
    UrlPart,
    canonical_encoding,
    keeps_encoded_slashes,
)
from whimbrel.modules.proxy.mod_proxy.model import PROXY_PORTS
from whimbrel.modules.proxy.mod_proxy.program_exchange import (
    ProgramExchange,
    ProgramScheme,
    connection_of,
    read_script_head,
    refuse_chunked,
    serve,
)
from whimbrel.modules.proxy.mod_proxy.scheme import ProxyCall
from whimbrel.modules.proxy.mod_proxy.url_authority import BadAuthority, site_of, split_authority
from whimbrel.modules.proxy.mod_proxy_scgi.settings import ScgiDirConfig
from whimbrel.modules.support.cgi.environment import add_cgi_vars, add_common_vars
from whimbrel.registry.phases import DECLINED, OK, HookStatus

_MODULE: Final = "proxy_scgi"
_PREFIX: Final = "scgi://"
_SCHEME: Final = ProgramScheme(_MODULE, "SCGI", "AH00866", flushes=False)
_GET: Final = 0


def log(r: Request, level: str, text: str, code: str) -> None:
    """Write a line of this module; 2.2's has a prefix."""
    r.log(level, f"proxy: SCGI: {text}" if r.plan.dialect.proxy_22 else text, code=code, module=_MODULE)


def canonicalize(r: Request, url: str) -> HookStatus:
    """Set `r.filename` to ``proxy:`` and the canonical form of *url*; DECLINED for other schemes."""
    if lower(url[: len(_PREFIX)]) != _PREFIX:
        return DECLINED
    rest = url[5:]
    old = r.plan.dialect.proxy_22
    try:
        host, port, path = split_authority(rest)
    except BadAuthority as problem:
        r.log("error", f"error parsing URL {problem.rest}: {problem}", code="AH00857", module=_MODULE)
        return 400
    keeps = not old and keeps_encoded_slashes(r)
    sent = canonical_encoding(path, UrlPart.PATH, keeps_encoded_slashes=keeps)
    if sent is None:
        return 400
    default = PROXY_PORTS["scgi"]
    site = site_of(host, port or default, 0 if old else default)
    r.filename = f"{PREFIX}{_PREFIX}{site}/{sent}"
    if old or "proxy-scgi-pathinfo" in r.env:
        r.path_info = f"/{sent}"
    return OK


def handle(call: ProxyCall) -> HookStatus | Awaitable[HookStatus]:
    """Answer `call.r` by an SCGI application; DECLINED for URLs of other schemes."""
    if lower(call.url[: len(_PREFIX)]) == _PREFIX:
        return serve(call, _SCHEME, _exchange)
    log(call.r, "debug", f"declining URL {call.url}", "AH00865")
    return DECLINED


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
        add_common_vars(r)
        await add_cgi_vars(r)
        length = 0 if r.main is not None else r.body_in.length or 0
        exchange.begin(ScgiReader(), request_bytes(r.env.items(), length))
        if length:
            await exchange.send_body(bytes)
        head = await exchange.head()
        if connection.is_stalled:
            return exchange.unsent("AH00858")
    except BackendError as problem:
        exchange.log_failure(problem)
        exchange.abort()
        return problem.status
    except BodyError:
        log(r, "error", "receiving request body failed", "AH00859")
        exchange.abort()
        return 500
    except BaseException:
        exchange.abort()
        raise
    return await _respond(exchange, head)


async def _respond(exchange: ProgramExchange, head: ResponseHead) -> HookStatus:
    """Make the response of an answer whose head has arrived."""
    r = exchange.r
    conf = exchange.r.dir_config(ScgiDirConfig)
    status = read_script_head(r, head, _MODULE, is_late=cast(ScgiReader, exchange.reader).is_late)
    if status != OK:
        log(r, "error", f"error reading response headers from {exchange.server}", "AH00860")
        r.status_line = None
        exchange.abort()
        return status
    if conf.sendfile:
        fields = r.err_headers_out if conf.sendfile in r.err_headers_out else r.headers_out
        path = fields.get(conf.sendfile)
        if path is not None:
            log(r, "debug", f"Found {conf.sendfile}: {path} - preparing subrequest.", "AH00861")
            fields.unset(conf.sendfile)
            exchange.abort()
            return await _send_file(r, path)
    if conf.redirect and r.status == 200:
        location = _location(r, conf.redirect)
        if location is not None:
            exchange.abort()
            return await _redirect(r, location)
    exchange.take_body()
    return OK


def _location(r: Request, name: str) -> str | None:
    """Return the path of the field *name*; a field other than Location is removed."""
    fields: Headers = r.err_headers_out if name in r.err_headers_out else r.headers_out
    path = fields.get(name)
    if path is None or path[:1] != "/":
        return None
    if lower(name) != "location":
        fields.unset(name)
    return path


async def _redirect(r: Request, location: str) -> HookStatus:
    """Serve another path of this server in place of the answer."""
    log(r, "debug", f"Internal redirect to {location}", "AH00862")
    r.status_line = None
    if r.method_number != _GET:
        r.method = "GET"
        r.method_number = _GET
    r.headers_in = r.headers_in.copy()
    r.headers_in.unset("Content-Length")
    return await r.engine.internal_redirect(location, r)


async def _send_file(r: Request, path: str) -> HookStatus:
    """Send a file in place of the answer."""
    log(r, "debug", f"File subrequest to {path}", "AH00863")
    sub = await r.engine.lookup_file(r, path)
    if sub.status == 200 and sub.finfo is not None:
        await r.engine.run_sub(sub)
        return OK
    kind = 0 if sub.finfo is None else 1
    text = f"Subrequest to file '{path}' not possible. (rr->status={sub.status}, rr->finfo.filetype={kind})"
    r.log("error", text, code="AH00864", module=_MODULE)
    return 500
