"""mod_proxy_http: back ends and proxies that speak HTTP/1.

Files: canonical (URLs), request_head, request_body, response_head, exchange (one request to a back end),
handler. Connections come from mod_proxy.
Must not import: server, cli.
"""

from __future__ import annotations

from whimbrel.base.static_typing import Any, Final
from whimbrel.directives.spec import Versions
from whimbrel.modules.proxy.mod_proxy.lazy_scheme import LazyScheme
from whimbrel.registry.module import Module, Provider


def functions() -> tuple[Any, Any]:
    """Return the functions of the schemes http, https, and those that a proxy fetches for http."""
    from whimbrel.modules.proxy.mod_proxy_http import canonical, handler

    return canonical.canonicalize, handler.handle


_SCHEME: Final = LazyScheme(functions)
MODULE: Final = Module(
    name="proxy_http_module",
    source="mod_proxy_http.c",
    providers=(
        *[Provider("proxy_scheme", name, _SCHEME) for name in ("http", "https")],
        *[Provider("proxy_scheme", name, _SCHEME, Versions.V24) for name in ("ws", "wss")],
    ),
)
