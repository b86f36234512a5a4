"""mod_proxy_connect: the method CONNECT of forward proxies.

Public: MODULE. The handler is in handler.py. Must not import: server, cli.
"""

from __future__ import annotations

from whimbrel.base.errors import ConfigError
from whimbrel.base.numbers import decimal, is_digits
from whimbrel.base.static_typing import Any, Final
from whimbrel.directives.command import Command
from whimbrel.modules.proxy.mod_proxy.lazy_scheme import LazyScheme
from whimbrel.modules.proxy.mod_proxy_connect.settings import ConnectServerConfig
from whimbrel.registry.module import Module, Provider
from whimbrel.registry.settings import UNSET


def add_ports(_cmd: Command, conf: ConnectServerConfig, words: list[str]) -> None:
    """Add a port or ``FIRST-LAST``; raises ConfigError with httpd's message."""
    word = words[0]
    if not is_digits(word[:1]):
        raise ConfigError("AllowCONNECT: port numbers must be numeric")
    low, dash, high = word.partition("-")
    for text in (low, high) if dash else (low,):
        if not is_digits(text):
            raise ConfigError(f"Cannot parse '{text}' as port number")
    first = decimal(low)
    last = decimal(high) if dash else first
    entries: Any = conf.ports
    conf.ports = [*([] if entries is UNSET else entries), (first, last)]


def functions() -> tuple[Any, Any]:
    """Return the functions of the method CONNECT, which mod_proxy passes here whatever the target is."""
    from whimbrel.modules.proxy.mod_proxy_connect import handler

    return handler.canonicalize, handler.handle


MODULE: Final = Module(
    name="proxy_connect_module",
    source="mod_proxy_connect.c",
    server_config=ConnectServerConfig,
    server_setters={
        "AllowCONNECT": add_ports,
    },
    providers=(Provider("proxy_scheme", "connect", LazyScheme(functions)),),
)
