"""The lowest protocol of a connection: only layers that a server enables are installed."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.engine import build_engine

from whimbrel.modules.metadata.mod_remoteip import ProxiedAddresses
from whimbrel.server.connection.dumpio import DumpIOLayer
from whimbrel.server.connection.echo import EchoProtocol
from whimbrel.server.connection.proxy_protocol import ProxyProtocolReader
from whimbrel.server.connection.stack import protocol_factory
from whimbrel.server.connection.tls import TlsLayer
from whimbrel.server.http1.connection import Http1Connection

REMOTEIP = "LoadModule remoteip_module modules/mod_remoteip.so\n"


@pytest.mark.parametrize(
    ("enabled", "lowest"),
    [
        ({}, Http1Connection),
        ({"dumpio"}, DumpIOLayer),
        ({"remoteip"}, ProxyProtocolReader),
        ({"echo", "dumpio"}, EchoProtocol),
        ({"remoteip", "dumpio"}, ProxyProtocolReader),
        ({"ssl", "dumpio"}, TlsLayer),
        ({"remoteip", "ssl"}, ProxyProtocolReader),
    ],
)
def test_layers_stack(tmp_path: Path, enabled: set[str], lowest: type) -> None:
    def provider(group: str, _name: str) -> Any:
        if group == "ssl":
            return object() if group in enabled else None
        if group == "remoteip":
            text = "RemoteIPProxyProtocol On" if group in enabled else ""
            return lambda _: ProxiedAddresses(build_engine(tmp_path, REMOTEIP + text).configuration)
        return lambda _configuration: group in enabled

    service: Any = SimpleNamespace(engine=SimpleNamespace(configuration=SimpleNamespace(provider=provider)))
    protocol = protocol_factory(service)()
    assert type(protocol) is lowest
    if isinstance(protocol, ProxyProtocolReader):
        above = DumpIOLayer if "dumpio" in enabled else TlsLayer if "ssl" in enabled else Http1Connection
        assert type(protocol._make_inner()) is above
