"""mod_proxy_uwsgi: back ends that speak uwsgi.

Files: handler, canonical (URLs). Connections come from mod_proxy.
Must not import: server, cli.
"""

from __future__ import annotations

from whimbrel.base.static_typing import Any, Final
from whimbrel.modules.proxy.mod_proxy.lazy_scheme import LazyScheme
from whimbrel.registry.module import Module, Provider


def functions() -> tuple[Any, Any]:
    """Return the functions of the scheme uwsgi."""
    from whimbrel.modules.proxy.mod_proxy_uwsgi import canonical, handler

    return canonical.canonicalize, handler.handle


_SCHEME: Final = LazyScheme(functions)
MODULE: Final = Module(
    name="proxy_uwsgi_module",
    source="mod_proxy_uwsgi.c",
    providers=(Provider("proxy_scheme", "uwsgi", _SCHEME),),
)
