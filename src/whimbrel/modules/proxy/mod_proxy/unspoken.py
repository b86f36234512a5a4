"""Back ends whose protocol Whimbrel does not speak: a mapping to one stops the start."""

from __future__ import annotations

from whimbrel.base.errors import StartError
from whimbrel.base.numbers import lower
from whimbrel.base.static_typing import TYPE_CHECKING
from whimbrel.modules.proxy.mod_proxy.settings import ProxyAlias, ProxyDirConfig, ProxyServerConfig

if TYPE_CHECKING:
    from whimbrel.config.configuration import Configuration


def refuse_schemes(configuration: Configuration, schemes: tuple[str, ...], why: str) -> None:
    """Raise StartError for a ProxyPass to a URL with one of *schemes*; the message says *why*."""
    if not configuration.loaded("proxy_module"):
        return
    for server in configuration.servers():
        lines = list(server.config(ProxyServerConfig).aliases)
        for section in server.locations:
            record = section.layer.records.get(ProxyDirConfig)
            if record is not None and isinstance(record.alias, ProxyAlias):
                lines.append(record.alias)
        for line in lines:
            if lower(line.real.partition(":")[0]) in schemes:
                raise StartError(f"ProxyPass {line.fake} {line.real}: {why}")
