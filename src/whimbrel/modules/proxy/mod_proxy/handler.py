"""The handler: what precedes the back end, the choice of worker and proxy, and failover (proxy_handler)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.base.numbers import is_digits, lower, strtol, strtol_exact
from whimbrel.base.programs import may_start_programs, report
from whimbrel.config.core_config import CoreDirConfig, CoreServerConfig
from whimbrel.engine.relay.relay import RELAYABLE
from whimbrel.engine.request import Request
from whimbrel.http.syntax.target import unsplit
from whimbrel.modules.core.handler import HandlerNames
from whimbrel.modules.http.methods import make_trace, options
from whimbrel.modules.proxy.mod_proxy.canonical_url import (
    FROM_HANDLER,
    PREFIX,
    canonicalizer,
    has_socket,
    is_proxied,
    take_socket,
)
from whimbrel.modules.proxy.mod_proxy.errors import proxy_error
from whimbrel.modules.proxy.mod_proxy.excluded_hosts import in_network, is_direct
from whimbrel.modules.proxy.mod_proxy.model import find_worker
from whimbrel.modules.proxy.mod_proxy.scheme import BALANCERS, SCHEMES, ProxyCall
from whimbrel.modules.proxy.mod_proxy.settings import ProxyDirConfig, ProxyRemote, ProxyServerConfig
from whimbrel.modules.support.cgi.environment import add_cgi_vars, add_common_vars
from whimbrel.modules.support.stand_in_answer import stand_in_answer
from whimbrel.registry.methods import NAMES
from whimbrel.registry.module import CompiledHook, Reads, Scope
from whimbrel.registry.phases import DECLINED, DONE, FORWARD_PROXY, OK, REVERSE_PROXY, HookStatus

_GET, _OPTIONS, _TRACE, _CONNECT = (NAMES.index(name) for name in ("GET", "OPTIONS", "TRACE", "CONNECT"))
_MODULE: Final = "proxy"
_NO_KEEPALIVE: Final = "proxy-nokeepalive"
_MAX_INT64: Final = 2**63 - 1
_NO_HANDLER: Final = (
    "If you are using a DSO version of mod_proxy, make sure the proxy submodules are included in the "
    "configuration using LoadModule."
)


def make_handler(scope: Scope) -> CompiledHook:
    """Make the handler of proxied requests, and of files whose handler is ``proxy:URL`` (2.4)."""
    proxy = ProxyHandler(scope)
    core = scope.dir_config(CoreDirConfig)
    is_named = core.handler in (None, "none") and core.handler_expr is None
    names = HandlerNames(("proxy-server", f"{PREFIX}*")) if is_named else None
    return CompiledHook(proxy.handle, Reads.FIELDS, is_async=True, handlers=names)


class ProxyHandler:
    """The handler for one merged configuration."""

    __slots__ = (
        "_canonicalize",
        "_loaded",
        "_old",
        "_provider",
        "_server",
        "_settings",
        "_trace",
        "_trace_mode",
    )

    def __init__(self, scope: Scope) -> None:
        self._server = scope.server_config(ProxyServerConfig)
        self._settings = scope.dir_config(ProxyDirConfig)
        self._old = scope.dialect.proxy_22
        self._provider: Callable[[str, str], Any] = scope.provider
        self._canonicalize = canonicalizer(scope)
        self._loaded = scope.loaded
        self._trace: Callable[[Request], Any] = make_trace(scope).fn
        self._trace_mode = scope.server_config(CoreServerConfig).trace_enable

    def handle(self, r: Request) -> HookStatus | Awaitable[HookStatus]:
        """Answer *r* by a back end; DECLINED if it is not proxied."""
        if not is_proxied(r):
            name = r.filename
            status = DECLINED if r.proxy or self._old else self._adopt(r)
            if status != OK:
                return status
            if not may_start_programs() and _scheme_of(r.handler or "") == "fcgi":
                return _script_not_run(r, name)
        if not r.deps.is_uncacheable:
            r.relay = RELAYABLE
            r.set_uncacheable()
        return self._serve(r)

    def _adopt(self, r: Request) -> HookStatus:
        """Pass a file whose handler is ``proxy:URL`` on; DECLINED for every other handler."""
        handler = r.handler
        name = r.filename
        if handler is None or name is None or not handler.startswith(PREFIX) or name.startswith(PREFIX):
            return DECLINED
        r.proxy = REVERSE_PROXY
        r.filename = handler + name
        r.notes[FROM_HANDLER] = "1"
        status = self._canonicalize(r)
        if status != OK:
            r.proxy = 0
            r.filename = name
            del r.notes[FROM_HANDLER]
        else:
            r.body_in.limit = 0  # as of every proxied request
        if status == DECLINED and self._lacks(handler):
            r.log("error", f"handler {handler} has no behaviour here, {name} is not sent")
            return 500
        return status

    def _lacks(self, handler: str) -> bool:
        """Return True if the module of the URL's scheme is loaded, but has no behaviour."""
        scheme = _scheme_of(handler)
        return self._provider(SCHEMES, scheme) is None and self._loaded(f"proxy_{scheme}_module")

    async def _serve(self, r: Request) -> HookStatus:
        field = r.headers_in.get("Max-Forwards")
        forwards = self._server.max_forwards
        if field is not None:
            number = strtol(field)[0] if self._old else _forwards(field)
            if number is None:
                text = f"Max-Forwards value '{field}' could not be parsed"
                r.log("warn", text, code="AH10188", module=_MODULE)
                return proxy_error(r, 400, "Max-Forwards request header could not be parsed")
            if number < 1:
                return await self._end(r)
            forwards = number - 1
        if forwards >= 0:
            r.headers_in.set("Max-Forwards", str(forwards))
        status = self._check_trace(r) if r.method_number == _TRACE else OK
        if status != OK:
            return status
        url = (r.filename or "")[len(PREFIX) :]
        scheme, colon, _ = url.partition(":")
        if not colon:
            r.log("debug", f"proxy_handler no URL in {r.filename}", code="AH01141", module=_MODULE)
            return 400
        if self._server.domain and _needs_domain(r, self._server.domain):
            return 301
        return await self._attempts(r, url, scheme)

    async def _end(self, r: Request) -> HookStatus:
        """Answer a request that may not be forwarded any more."""
        if r.method_number == _TRACE:
            r.proxy = 0
            status: HookStatus = await self._trace(r)
            return OK if status == DONE else status
        if r.method_number == _OPTIONS:
            r.proxy = 0
            return options(r)
        return proxy_error(r, 502 if self._old else 400, "Max-Forwards has reached zero - proxy loop?")

    def _check_trace(self, r: Request) -> HookStatus:
        """Refuse TRACE as TraceEnable says."""
        if self._trace_mode == 0:
            status = 405
            text = "TRACE forbidden by server configuration"
            code = "AH01139"
        elif self._trace_mode != 2 and r.body_in.length != 0:
            status = 413
            text = "TRACE with request body is not allowed"
            code = "AH01140"
        else:
            return OK
        r.notes["error-notes"] = text
        r.notes["verbose-error-to"] = "*"
        r.log("error", f"{'proxy: ' if self._old else ''}{text}", code=code, module=_MODULE)
        return status

    # attempts -------------------------------------------------------------------------------------
    async def _attempts(self, r: Request, url: str, scheme: str) -> HookStatus:
        """Try members of a balancer until one answers or the attempts are used up."""
        is_direct_host = bool(self._server.direct) and await self._is_direct(r)
        balancers = self._provider(BALANCERS, "default")
        call = ProxyCall(r, url, scheme, self._server, self._settings)
        if balancers is None:
            return await self._balanced(call, balancers, is_direct_host)
        try:
            return await self._balanced(call, balancers, is_direct_host)
        finally:
            balancers.give_up(call)
            if call.body is not None:
                call.body.close()

    async def _balanced(self, call: ProxyCall, balancers: Any, is_direct_host: bool) -> HookStatus:
        r = call.r
        url = call.url
        attempts = 0
        while True:
            call.url = url
            call.proxy = None
            call.attempt = attempts
            status: HookStatus = DECLINED
            if balancers is not None:
                chosen = balancers.pre_request(call)
                status = chosen if isinstance(chosen, int) else await chosen
            status = self._choose(call, status)
            if status not in (OK, 503):
                return status
            if status == OK:
                status, is_last = await self._try(call, is_direct_host)
            else:
                is_last = True
            if call.balancer is None:
                return self._without_handler(call) if status == DECLINED else status
            if not is_last and status in (500, 503):
                balancers.set_error(call)
            if (
                is_last
                or status != 503
                or balancers.is_usable(call)
                or balancers.max_attempts(call) <= attempts
                or "proxy-error-override" in r.notes
            ):
                break
            attempts += 1
        if status == DECLINED:
            status = self._without_handler(call)
        return _finished(call, balancers, status)

    def _choose(self, call: ProxyCall, status: HookStatus) -> HookStatus:
        """Set the worker of *call*, unless a balancer has chosen a member with *status*: the server's, or an
        implicit one (ap_proxy_pre_request).
        """
        r = call.r
        is_forward = call.r.proxy == FORWARD_PROXY
        if status != DECLINED:
            if call.worker is None:
                call.balancer = None
            return status
        if call.balancer is not None:
            text = f"all workers are busy.  Unable to serve {call.url}"
            r.log("error", text, code="AH00937", module=_MODULE)
            return 503
        real = call.url.partition("|")[2] if has_socket(call.url) else call.url
        call.worker = find_worker(self._server.workers, real)
        if call.worker is not None:
            text = f"{call.worker.scheme}: found worker {call.worker.name} for {real}"
        elif is_forward:
            if not self._server.requests:
                return DECLINED
            call.worker = self._server.forward
            text = f"*: found forward proxy worker for {real}"
            r.env[_NO_KEEPALIVE] = "1"
        else:
            call.worker = self._server.reverse
            text = f"*: using default reverse proxy worker for {real} (no keepalive)"
            r.env[_NO_KEEPALIVE] = "1"
        r.log("trace2", text, module=_MODULE)
        return OK if is_forward else _take_socket(call)

    async def _try(self, call: ProxyCall, is_direct_host: bool) -> tuple[HookStatus, bool]:
        """Run the scheme handler, by way of the proxies of ProxyRemote first; True if that was final."""
        r = call.r
        for remote in () if is_direct_host else self._server.remotes:
            if not _is_for(remote, call.url, call.scheme):
                continue
            text = "Trying to run scheme_handler against proxy"
            r.log("debug", text, code="AH01142", module=_MODULE)
            call.proxy = remote
            status = await self._run(call)
            if status != DECLINED and (status != 502 or _has_body(r)):
                return status, True
        call.proxy = None
        text = f"Running scheme {call.scheme} handler (attempt {call.attempt})"
        r.log("debug", text, code="AH01143", module=_MODULE)
        return await self._run(call), False

    async def _run(self, call: ProxyCall) -> HookStatus:
        """Run the handler of the scheme; the one of http asks proxies for files of FTP servers, too."""
        name = "connect" if call.r.method_number == _CONNECT else lower(call.url.partition(":")[0])
        handler = self._provider(SCHEMES, name)
        if handler is None and call.proxy is not None and name == "ftp":
            handler = self._provider(SCHEMES, "http")
        if handler is None:
            return DECLINED
        result = handler.handle(call)
        status: HookStatus = result if isinstance(result, int) else await result
        return status

    def _without_handler(self, call: ProxyCall) -> HookStatus:
        uri = call.r.uri
        scheme = "" if self._old else f" (scheme '{call.scheme}')"
        prefix = "proxy: " if self._old else ""
        text = f"{prefix}No protocol handler was valid for the URL {uri}{scheme}. {_NO_HANDLER}"
        call.r.log("warn", text, code="AH01144", module=_MODULE)
        return 500

    async def _is_direct(self, r: Request) -> bool:
        """Return True if NoProxy names the host; one that only its address decides about is looked up."""
        host = _host_of(r)
        if not host:
            return False
        if any(is_direct(entry, host) for entry in self._server.direct):
            return True
        networks = [entry for entry in self._server.direct if entry.kind == "network"]
        if not networks or is_digits(host.replace(".", "")):
            return False
        found = await r.engine.runtime.resolve(host)
        return any(in_network(entry, address) for entry in networks for address in found)


def _finished(call: ProxyCall, balancers: Any, status: HookStatus) -> HookStatus:
    """Report the end of the request to the balancer, which sees *status* as the request's."""
    r = call.r
    if status in (OK, DONE):
        balancers.post_request(call)
        return status
    saved, r.status = r.status, status
    balancers.post_request(call)
    if r.status == status:
        r.status = saved
    return status


def _forwards(field: str) -> int | None:
    """Return the number in a Max-Forwards field, None if it is none (2.4)."""
    number = strtol_exact(field)
    return None if number is None or not 0 <= number < _MAX_INT64 else number


def _needs_domain(r: Request, domain: str) -> bool:
    """Return True if the host has no domain: the response redirects to it with *domain* (ProxyDomain)."""
    url = None if r.head is None else r.head.url
    if r.method_number != _GET or url is None or not url.hostname:
        return False
    if "." in url.hostname or ":" in url.hostname or lower(url.hostname) == "localhost":
        return False
    target = replace(url, hostname=url.hostname + domain)
    r.headers_out.set("Location", unsplit(target, reveal_password=True))
    referer = r.headers_in.get("Referer")
    shown = unsplit(replace(target, user=None, password=None))
    text = f"Domain missing: {r.uri} sent to {shown}{f' from {referer}' if referer else ''}"
    r.log("info", text, code="AH01138", module=_MODULE)
    return True


def _host_of(r: Request) -> str | None:
    """Return the host that the request names, in its head or in its URI."""
    if r.hostname is not None:
        return r.hostname
    rest = r.uri.partition("://")[2].partition("/")[0].rpartition("@")[2]
    return lower(rest.partition(":")[0]) or None


def _is_for(remote: ProxyRemote, url: str, scheme: str) -> bool:
    """Return True if requests for *url* go to *remote*."""
    if remote.regex is not None:
        return remote.regex.search(url) is not None
    if remote.match == "*":
        return True
    if ":" not in remote.match:
        return lower(scheme) == remote.match
    return lower(url[: len(remote.match)]) == lower(remote.match)


def _has_body(r: Request) -> bool:
    """Return True if the request has a body, so that it cannot be sent a second time."""
    length = r.headers_in.get("Content-Length")
    if length is not None and strtol_exact(length) != 0:
        return True
    return "Transfer-Encoding" in r.headers_in


def _take_socket(call: ProxyCall) -> HookStatus:
    """Take ``unix:PATH|`` out of the URL."""
    if not has_socket(call.url):
        return OK
    status = take_socket(call.r, call.url)
    if status == OK:
        call.url = (call.r.filename or "")[len(PREFIX) :]
        call.scheme = call.url.partition(":")[0]
    return status


def _scheme_of(handler: str) -> str:
    """Return the scheme of the URL in a handler ``proxy:URL``, in lower case."""
    url = handler[len(PREFIX) :]
    return lower((url.partition("|")[2] if has_socket(url) else url).partition(":")[0])


async def _script_not_run(r: Request, name: str | None) -> HookStatus:
    """Answer *r*, the script *name* of a FastCGI application, in the place of that: PHP-FPM answers 404 for a
    script that is not there.
    """
    r.filename = name
    r.proxy = 0
    del r.notes[FROM_HANDLER]
    if r.finfo is None:
        return 404
    r.set_uncacheable()
    add_common_vars(r)
    await add_cgi_vars(r)
    report("", makes_response=r.main is None)
    return stand_in_answer(r, "text/html")
