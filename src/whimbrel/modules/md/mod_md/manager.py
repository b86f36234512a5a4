"""What mod_md knows after a start: domains, store, certificates for mod_ssl; one object per configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.base.numbers import lower
from whimbrel.config.configuration import Configuration
from whimbrel.config.model import Server
from whimbrel.modules.md.mod_md.challenges import Reach
from whimbrel.modules.md.mod_md.domains import ManagedDomain, by_host
from whimbrel.modules.md.mod_md.settings import MdGlobalConfig
from whimbrel.modules.md.mod_md.store import FileStore

MANAGER: Final = "manager"  # name of the provider of the group "md"
VERSION: Final = "2.6.10"  # of httpd's mod_md in 2.4.71, as md-status shows it


@dataclass(slots=True)
class Manager:
    """The managed domains of a configuration.

    Attributes:
        conf: settings of the server. `reach`: how the outside reaches it.
        unavailable: ids of servers that answer 503, as they have no certificate yet.
        initial_errors: problems of domains that a start has found, by name.
        log: records a line of the start: level, code, text, cause.
        log_connection: function of a worker: records a line about a connection.
    """

    conf: MdGlobalConfig
    domains: list[ManagedDomain]
    store: FileStore
    reach: Reach
    log: Callable[..., None]
    by_server: dict[int, list[ManagedDomain]] = field(default_factory=dict)
    unavailable: set[int] = field(default_factory=set)
    initial_errors: dict[str, str] = field(default_factory=dict)
    log_connection: Callable[..., None] | None = None

    def of_server(self, server: Server) -> list[ManagedDomain]:
        """Return the domains that match a server."""
        return self.by_server.get(id(server), [])

    def of_host(self, host: str | None) -> ManagedDomain | None:
        """Return the domain with *host* among its names."""
        return None if host is None else by_host(self.domains, lower(host))


def manager_of(configuration: Configuration) -> Manager | None:
    """Return the manager, None without managed domains."""
    found: Manager | None = configuration.provider("md", MANAGER)
    return found
