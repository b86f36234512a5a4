"""mod_proxy_ftp: the directives of FTP back ends, which Whimbrel does not speak; a mapping stops the start.

In 2.2 ProxyFtpDirCharset is mod_proxy's.
"""

from __future__ import annotations

from whimbrel.base.static_typing import Final
from whimbrel.config.configuration import Configuration
from whimbrel.modules.proxy.mod_proxy.unspoken import refuse_schemes
from whimbrel.modules.support.setters import ignored
from whimbrel.registry.module import Module


def refuse_mappings(configuration: Configuration) -> None:
    """Raise StartError for a ProxyPass to an FTP server; warn of the module, for forward proxies."""
    why = "FTP servers (mod_proxy_ftp) are not supported; remove the line, or serve the files by HTTP"
    refuse_schemes(configuration, ("ftp",), why)
    configuration.warn(
        "LoadModule proxy_ftp_module: requests for FTP servers (mod_proxy_ftp) are not supported, they are "
        "refused as without the module",
        module="proxy_ftp",
        level="warn",
    )


MODULE: Final = Module(
    name="proxy_ftp_module",
    source="mod_proxy_ftp.c",
    setters={
        "ProxyFtpListOnWildcard": ignored,
        "ProxyFtpEscapeWildcards": ignored,
        "ProxyFtpDirCharset": ignored,
    },
    post_config=(refuse_mappings,),
)
