"""Ports of a server, and addresses on which clients have to speak TLS."""

from __future__ import annotations

from whimbrel.config.configuration import Configuration
from whimbrel.config.model import Server
from whimbrel.modules.ssl.mod_ssl.settings import ON
from whimbrel.modules.ssl.mod_ssl.start import engine_of


def ports_of(configuration: Configuration) -> tuple[int, ...]:
    """Return the ports of all Listen lines, each once."""
    return tuple(dict.fromkeys(listener.port for listener in configuration.spec.listeners))


def takes_tls(configuration: Configuration, address: str, port: int) -> bool:
    """Return True if clients of this address of the server speak TLS from their first byte.

    httpd: ssl_hook_pre_connection, by SSLEngine of the first virtual host of the address. ``SSLEngine
    optional`` waits for an Upgrade field (RFC 2817).
    """
    if all(module.name != "ssl_module" for module in configuration.modules.modules):
        return False
    return engine_of(configuration, default_server(configuration, address, port)) == ON


def default_server(configuration: Configuration, address: str, port: int) -> Server:
    """Return the first virtual host of an address, the main server without one."""
    hosts = configuration.hosts
    return configuration.main if hosts is None else hosts.find(address, port).server
