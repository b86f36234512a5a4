"""The lowest protocol of a connection: only layers that a server enables are installed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from whimbrel.server.connection.dumpio import DumpIOLayer
from whimbrel.server.connection.echo import EchoProtocol
from whimbrel.server.connection.proxy_protocol import ProxyProtocolReader
from whimbrel.server.connection.stack import protocol_factory
from whimbrel.server.http1.protocol import HttpProtocol


@pytest.mark.parametrize(
    ("enabled", "lowest"),
    [
        ({}, HttpProtocol),
        ({"dumpio"}, DumpIOLayer),
        ({"remoteip"}, ProxyProtocolReader),
        ({"echo", "dumpio"}, EchoProtocol),
        ({"remoteip", "dumpio"}, ProxyProtocolReader),
    ],
)
def test_layers_stack(enabled: set[str], lowest: type) -> None:
    def provider(group: str, _name: str) -> Any:
        return lambda _configuration: group in enabled

    service: Any = SimpleNamespace(engine=SimpleNamespace(configuration=SimpleNamespace(provider=provider)))
    protocol = protocol_factory(service)()
    assert type(protocol) is lowest
    if isinstance(protocol, ProxyProtocolReader):
        assert type(protocol._make_inner()) is (DumpIOLayer if "dumpio" in enabled else HttpProtocol)
