"""mod_proxy_ftp: the directives of FTP back ends, which Whimbrel does not speak; a mapping stops the start.

Manual: mod/mod_proxy_ftp.html. In 2.2 ProxyFtpDirCharset is mod_proxy's.
"""

from __future__ import annotations

from whimbrel.base.static_typing import Any, Final
from whimbrel.directives.spec import Args, Context, Directive, Versions
from whimbrel.modules.proxy.mod_proxy.unspoken import refuse_schemes
from whimbrel.modules.support.setters import ignored
from whimbrel.registry.module import Module

_WHERE: Final = Context.RSRC_CONF | Context.ACCESS_CONF
_LIST: Final = (
    "Whether wildcard characters in a path cause mod_proxy_ftp to list the files instead of trying to get "
    "them. Defaults to on."
)
_ESCAPE: Final = (
    "Whether the proxy should escape wildcards in paths before sending them to the FTP server.  Defaults to "
    "on, but most FTP servers will need it turned off if you need to manage paths that contain wildcard "
    "characters."
)


def refuse_mappings(configuration: Any) -> None:
    """Raise StartError for a ProxyPass to an FTP server; warn of the module, for forward proxies."""
    refuse_schemes(configuration, ("ftp",), "FTP servers (mod_proxy_ftp)", "serve the files by HTTP")
    configuration.warn(
        "LoadModule proxy_ftp_module: requests for FTP servers (mod_proxy_ftp) are not supported, they are "
        "refused as without the module",
        module="proxy_ftp",
        level="warn",
    )


MODULE: Final = Module(
    name="proxy_ftp_module",
    source="mod_proxy_ftp.c",
    directives=(
        Directive(
            name="ProxyFtpListOnWildcard",
            args=Args.FLAG,
            where=_WHERE,
            apply=ignored,
            versions=Versions.V24,
            help=_LIST,
        ),
        Directive(
            name="ProxyFtpEscapeWildcards",
            args=Args.FLAG,
            where=_WHERE,
            apply=ignored,
            versions=Versions.V24,
            help=_ESCAPE,
        ),
        Directive(
            name="ProxyFtpDirCharset",
            args=Args.TAKE1,
            where=_WHERE,
            apply=ignored,
            versions=Versions.V24,
            help="Define the character set for proxied FTP listings",
        ),
    ),
    post_config=(refuse_mappings,),
)
