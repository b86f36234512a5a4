"""mod_proxy_scgi: back ends that speak SCGI.

Files: settings, handler (with canonical URLs). Connections come from mod_proxy.
Must not import: server, cli.
"""

from __future__ import annotations

from whimbrel.base.static_typing import Any, Final
from whimbrel.modules.proxy.mod_proxy.lazy_scheme import LazyScheme
from whimbrel.modules.proxy.mod_proxy_scgi.settings import ScgiDirConfig, set_field
from whimbrel.registry.module import Module, Provider


def functions() -> tuple[Any, Any]:
    """Return the functions of the scheme scgi."""
    from whimbrel.modules.proxy.mod_proxy_scgi import handler

    return handler.canonicalize, handler.handle


_SCHEME: Final = LazyScheme(functions)
MODULE: Final = Module(
    name="proxy_scgi_module",
    source="mod_proxy_scgi.c",
    dir_config=ScgiDirConfig,
    dir_setters={
        "ProxySCGISendfile": set_field("sendfile", "X-Sendfile"),
        "ProxySCGIInternalRedirect": set_field("redirect", "Location"),
    },
    providers=(Provider("proxy_scheme", "scgi", _SCHEME),),
)
