"""mod_proxy_wstunnel: back ends that speak WebSocket, ws:// and wss://.

mod_proxy_http handles these URLs if it is loaded, unless ProxyWebsocketFallbackToProxyHttp is Off.
Public: MODULE. The handler is in handler.py. Must not import: server, cli.
"""

from __future__ import annotations

from collections.abc import Awaitable

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import TYPE_CHECKING, Any, Final
from whimbrel.directives.spec import Versions
from whimbrel.modules.support.setters import set_flag
from whimbrel.registry.module import Module
from whimbrel.registry.phases import DECLINED, OK, HookStatus
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.config.configuration import Configuration
    from whimbrel.engine.request import Request
    from whimbrel.modules.proxy.mod_proxy.scheme import ProxyCall

_SCHEMES: Final = ("ws", "wss")


@dataclass(slots=True)
class WstunnelDirConfig:
    """Per-directory settings. Attributes: falls_back: mod_proxy_http handles ws URLs if it is loaded."""

    falls_back: bool = setting(True)


class WstunnelScheme:
    """The schemes ws and wss; *http* is the handler of mod_proxy_http, None if that is not loaded."""

    __slots__ = ("_http",)

    def __init__(self, http: Any) -> None:
        self._http = http

    def _falls_back(self, r: Request) -> bool:
        return self._http is not None and r.dir_config(WstunnelDirConfig).falls_back

    def check_translation(self, r: Request, url: str) -> HookStatus:
        """See TranslationCheck: only requests with Upgrade fields are mapped."""
        if self._falls_back(r):
            return DECLINED
        return OK if "Upgrade" in r.headers_in else 426

    def canonicalize(self, r: Request, url: str) -> HookStatus:
        """See SchemeHandler.canonicalize."""
        if self._falls_back(r):
            status: HookStatus = self._http.canonicalize(r, url)
            return status
        from whimbrel.modules.proxy.mod_proxy_wstunnel import handler  # no check of a text needs it

        return handler.canonicalize(r, url)

    def handle(self, call: ProxyCall) -> HookStatus | Awaitable[HookStatus]:
        """See SchemeHandler.handle."""
        if self._falls_back(call.r):
            result: HookStatus | Awaitable[HookStatus] = self._http.handle(call)
            return result
        from whimbrel.modules.proxy.mod_proxy_wstunnel import handler

        return handler.handle(call)


def take_schemes(configuration: Configuration) -> None:
    """Register for ws and wss in place of mod_proxy_http, whichever was loaded first."""
    modules = configuration.modules
    http = modules.provider("proxy_scheme", "http") if configuration.loaded("proxy_http_module") else None
    scheme = WstunnelScheme(http)
    for name in _SCHEMES:
        modules.register_provider("proxy_scheme", name, scheme)


MODULE: Final = Module(
    name="proxy_wstunnel_module",
    source="mod_proxy_wstunnel.c",
    versions=Versions.V24,
    dir_config=WstunnelDirConfig,
    dir_setters={
        "ProxyWebsocketFallbackToProxyHttp": set_flag("falls_back"),
    },
    check_config=(take_schemes,),
)
