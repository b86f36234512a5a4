"""mod_proxy_fdpass: passes the client's socket to another process through a Unix socket, ``fd:///path``."""

from __future__ import annotations

from collections.abc import Awaitable

from whimbrel.base.numbers import lower
from whimbrel.base.static_typing import TYPE_CHECKING, Any, Final
from whimbrel.config.execute import root_relative
from whimbrel.directives.spec import Versions
from whimbrel.registry.module import Module, Provider
from whimbrel.registry.phases import DECLINED, OK, HookStatus

if TYPE_CHECKING:
    from whimbrel.engine.request import Request
    from whimbrel.modules.proxy.mod_proxy.scheme import ProxyCall

_MODULE: Final = "proxy_fdpass"
FLUSHERS: Final = "proxy_fdpass_flusher"  # group of providers: functions of the request, called before


def standard_flush(_r: Request) -> HookStatus:
    """Return OK: the response so far is empty, so nothing has to be sent."""
    return OK


class FdpassScheme:
    """The scheme fd."""

    def canonicalize(self, r: Request, url: str) -> HookStatus:
        """Set the absolute path of the Unix socket."""
        if lower(url[:5]) != "fd://":
            return DECLINED
        r.filename = f"proxy:fd://{root_relative(r.engine.configuration.root, url[5:])}"
        r.log("debug", f"set r->filename to {r.filename}", code="AH01151", module=_MODULE)
        return OK

    def handle(self, call: ProxyCall) -> HookStatus | Awaitable[HookStatus]:
        """Pass the socket on; see SchemeHandler.handle."""
        return DECLINED if lower(call.url[:5]) != "fd://" else self._pass(call)

    async def _pass(self, call: ProxyCall) -> HookStatus:
        from whimbrel.modules.proxy.mod_proxy.passed_socket import SocketSender  # no check of a text needs it

        r = call.r
        sender = await SocketSender.connected(call, _MODULE)
        if sender is None:
            return 500
        worker = call.worker
        method = "flush" if worker is None else worker.parameters.flusher
        flush: Any = r.engine.configuration.provider(FLUSHERS, method)
        if flush is None:
            text = f"Unable to find configured flush provider '{method}'"
            r.log("error", text, code="AH01153", module=_MODULE)
            sender.close()
            return 500
        status: HookStatus = flush(r)
        if status != OK:
            sender.close()
            return status
        return sender.begin()


MODULE: Final = Module(
    name="proxy_fdpass_module",
    source="mod_proxy_fdpass.c",
    versions=Versions.V24,
    providers=(
        Provider("proxy_scheme", "fd", FdpassScheme()),
        Provider(FLUSHERS, "flush", standard_flush),
    ),
)
