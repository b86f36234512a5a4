"""mod_proxy_fcgi: back ends that speak FastCGI.

Files: settings, canonical (URLs), environment, handler. Connections come from mod_proxy.
Must not import: server, cli.
"""

from __future__ import annotations

from whimbrel.base.static_typing import Any, Final
from whimbrel.modules.proxy.mod_proxy.lazy_scheme import LazyScheme
from whimbrel.modules.proxy.mod_proxy_fcgi.settings import FcgiDirConfig, add_fixup
from whimbrel.modules.support.setters import set_choice
from whimbrel.registry.module import Module, Provider


def functions() -> tuple[Any, Any]:
    """Return the functions of the scheme fcgi."""
    from whimbrel.modules.proxy.mod_proxy_fcgi import canonical, handler

    return canonical.canonicalize, handler.handle


_SCHEME: Final = LazyScheme(functions)
MODULE: Final = Module(
    name="proxy_fcgi_module",
    source="mod_proxy_fcgi.c",
    dir_config=FcgiDirConfig,
    dir_setters={
        "ProxyFCGIBackendType": set_choice(
            "is_generic",
            {"generic": True, "fpm": False},
            "ProxyFCGIBackendType requires one of the following arguments: 'GENERIC', 'FPM'",
        ),
        "ProxyFCGISetEnvIf": add_fixup,
    },
    providers=(Provider("proxy_scheme", "fcgi", _SCHEME),),
)
