"""mod_dumpio: logs every byte of a connection.

The module stores the settings; the server reads them from the providers ("dumpio", "any_wanted") and, for a
connection, ("dumpio", "wanted").
"""

from __future__ import annotations

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.config.configuration import Configuration
from whimbrel.config.model import Server, confs
from whimbrel.modules.support.setters import set_choice, set_flag
from whimbrel.registry.module import Module, Provider
from whimbrel.registry.settings import setting

LEVELS = "emerg alert crit error warn notice info debug"


@dataclass(slots=True)
class DumpioServerConfig:
    """Directions that are dumped, and in 2.2 the level (2.4: trace7)."""

    input: bool = setting(False)
    output: bool = setting(False)
    level: str = setting("debug")


def wanted(_configuration: Configuration, server: Server) -> DumpioServerConfig:
    """Return the settings of a server."""
    return server.config(DumpioServerConfig)


def any_wanted(configuration: Configuration) -> bool:
    """Return True if any server enables a dump."""
    return any(conf.input or conf.output for conf in confs(configuration.servers(), DumpioServerConfig))


MODULE = Module(
    name="dumpio_module",
    source="mod_dumpio.c",
    server_config=DumpioServerConfig,
    server_setters={
        "DumpIOInput": set_flag("input"),
        "DumpIOOutput": set_flag("output"),
        "DumpIOLogLevel": set_choice(
            "level",
            {word: word for word in LEVELS.split()},
            f"DumpIOLogLevel requires level keyword: one of {LEVELS.replace(' ', '/')}",
        ),
    },
    providers=(Provider("dumpio", "wanted", wanted), Provider("dumpio", "any_wanted", any_wanted)),
)
