"""mod_proxy_ajp: back ends that speak AJP 1.3.

Files: handler, canonical (URLs), request, answer. Connections come from mod_proxy.
Must not import: server, cli.
"""

from __future__ import annotations

from whimbrel.base.static_typing import Any, Final
from whimbrel.modules.proxy.mod_proxy.lazy_scheme import LazyScheme
from whimbrel.registry.module import Module, Provider


def functions() -> tuple[Any, Any]:
    """Return the functions of the scheme ajp."""
    from whimbrel.modules.proxy.mod_proxy_ajp import canonical, handler

    return canonical.canonicalize, handler.handle


_SCHEME: Final = LazyScheme(functions)
MODULE: Final = Module(
    name="proxy_ajp_module",
    source="mod_proxy_ajp.c",
    providers=(Provider("proxy_scheme", "ajp", _SCHEME),),
)
