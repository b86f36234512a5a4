"""mod_proxy_scgi: back ends that speak SCGI. Manual: mod/mod_proxy_scgi.html.

Files: settings, handler (with canonical URLs). Connections come from mod_proxy.
Must not import: server, cli.
"""

from __future__ import annotations

from whimbrel.base.static_typing import Any, Final
from whimbrel.directives.spec import Args, Context, Directive, Versions
from whimbrel.modules.proxy.mod_proxy.lazy_scheme import LazyScheme
from whimbrel.modules.proxy.mod_proxy_scgi.settings import ScgiDirConfig, set_field
from whimbrel.registry.module import Module, Provider


def functions() -> tuple[Any, Any]:
    """Return the functions of the scheme scgi."""
    from whimbrel.modules.proxy.mod_proxy_scgi import handler

    return handler.canonicalize, handler.handle


_SCHEME: Final = LazyScheme(functions)
_WHERE: Final = Context.RSRC_CONF | Context.ACCESS_CONF
_REDIRECT: Final = "The name of the pseudo response header or On or Off"
MODULE: Final = Module(
    name="proxy_scgi_module",
    source="mod_proxy_scgi.c",
    dir_config=ScgiDirConfig,
    directives=(
        Directive(
            name="ProxySCGISendfile",
            args=Args.TAKE1,
            where=_WHERE,
            apply=set_field("sendfile", "X-Sendfile"),
            versions=Versions.V24,
            help="The name of the X-Sendfile pseudo response header or On or Off",
        ),
        Directive(
            name="ProxySCGISendfile",
            args=Args.TAKE1,
            where=_WHERE,
            apply=set_field("sendfile", "X-Sendfile"),
            versions=Versions.V22,
            help="The name of the X-Sendfile peudo response header or On or Off",
        ),
        Directive(
            name="ProxySCGIInternalRedirect",
            args=Args.TAKE1,
            where=_WHERE,
            apply=set_field("redirect", "Location"),
            versions=Versions.V24,
            help=_REDIRECT,
        ),
        Directive(
            name="ProxySCGIInternalRedirect",
            args=Args.FLAG,
            where=_WHERE,
            apply=set_field("redirect", "Location"),
            versions=Versions.V22,
            help=_REDIRECT,
        ),
    ),
    providers=(Provider("proxy_scheme", "scgi", _SCHEME),),
)
