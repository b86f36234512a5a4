"""mod_proxy_http2: back ends that speak HTTP/2, over the package h2.

Files: connection (one to a back end, with its streams), sessions (the connection of one process),
exchange (one request and its answer), handler.
Must not import: server, cli.
"""

from __future__ import annotations

from collections.abc import Awaitable

from whimbrel.base.numbers import lower
from whimbrel.base.static_typing import TYPE_CHECKING, Any, Final
from whimbrel.directives.spec import Versions
from whimbrel.modules.proxy.mod_proxy.unspoken import refuse_schemes
from whimbrel.registry.module import Module, Provider
from whimbrel.registry.phases import DECLINED, HookStatus

if TYPE_CHECKING:
    from whimbrel.config.configuration import Configuration
    from whimbrel.engine.request import Request
    from whimbrel.modules.proxy.mod_proxy.scheme import ProxyCall

_NAMES: Final = ("h2", "h2c")


class Http2Scheme:
    """The schemes h2 and h2c."""

    def canonicalize(self, r: Request, url: str) -> HookStatus:
        """See SchemeHandler.canonicalize."""
        if lower(url.partition(":")[0]) not in _NAMES:
            return DECLINED
        from whimbrel.modules.proxy.mod_proxy_http.canonical import CanonicalCodes, canonical_url

        return canonical_url(r, url, CanonicalCodes("proxy_http2", "AH03350", "AH10420", "AH10412"))

    def handle(self, call: ProxyCall) -> HookStatus | Awaitable[HookStatus]:
        """See SchemeHandler.handle."""
        from whimbrel.modules.proxy.mod_proxy_http2.handler import handle

        self.handle = handle  # type: ignore[method-assign]
        return handle(call)


def refuse_mappings(configuration: Configuration) -> None:
    """Raise StartError for a ProxyPass to a server of HTTP/2 where the package h2 is not installed."""
    from importlib.util import find_spec

    if find_spec("h2") is None:
        from whimbrel.base.extras import not_installed

        refuse_schemes(configuration, _NAMES, not_installed("mod_proxy_http2", "proxy-http2"))


_SCHEME: Final[Any] = Http2Scheme()
MODULE: Final = Module(
    name="proxy_http2_module",
    source="mod_proxy_http2.c",
    versions=Versions.V24,
    providers=tuple([Provider("proxy_scheme", name, _SCHEME) for name in _NAMES]),
    post_config=(refuse_mappings,),
)
