"""mod_echo: connections whose lines the server sends back; server/connection/echo.py has the protocol."""

from __future__ import annotations

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.config.configuration import Configuration
from whimbrel.config.model import Server
from whimbrel.modules.support.setters import set_flag
from whimbrel.registry.module import Module, Provider
from whimbrel.registry.settings import setting


@dataclass(slots=True)
class EchoServerConfig:
    """Per-server settings; *enabled*: ProtocolEcho."""

    enabled: bool = setting(False)


def is_enabled(server: Server) -> bool:
    """Return True if connections whose default server is *server* are echoed."""
    return server.config(EchoServerConfig).enabled


def any_enabled(configuration: Configuration) -> bool:
    """Return True if any server echoes."""
    return any(map(is_enabled, configuration.servers()))


MODULE = Module(
    name="echo_module",
    source="mod_echo.c",
    server_config=EchoServerConfig,
    server_setters={
        "ProtocolEcho": set_flag("enabled"),
    },
    providers=(Provider("echo", "is_enabled", is_enabled), Provider("echo", "any_enabled", any_enabled)),
)
