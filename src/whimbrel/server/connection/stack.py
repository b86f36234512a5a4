"""The layers of a worker's new connections: PROXY protocol header, TLS, mod_echo, mod_dumpio, HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from whimbrel.server.http1.connection import Http1Connection
from whimbrel.server.worker.state import WorkerState


def protocol_factory(service: WorkerState) -> Callable[[], asyncio.Protocol]:
    """Return the function that makes the lowest protocol of a new connection.

    Each layer is installed only where a server enables it; without one, connections are HTTP's own.
    """
    configuration = service.engine.configuration
    dumped = configuration.provider("dumpio", "any_wanted")
    echoed = configuration.provider("echo", "any_enabled")
    proxied = configuration.provider("remoteip", "proxied_addresses")

    def http() -> asyncio.Protocol:
        return Http1Connection(service)

    factory: Callable[[], asyncio.Protocol] = http
    if dumped is not None and dumped(configuration):
        from whimbrel.server.connection.dumpio import DumpIOLayer  # rarely used

        def dumpio() -> asyncio.Protocol:
            return DumpIOLayer(service)

        factory = dumpio
    if echoed is not None and echoed(configuration):
        from whimbrel.server.connection.echo import EchoProtocol  # rarely used

        factory = partial(EchoProtocol, service, factory)
    hosts = configuration.provider("ssl", "hosts")
    if hosts is not None:
        from whimbrel.server.connection.tls import layer_factory  # not every server has TLS

        factory = layer_factory(service, hosts, factory)
    addresses = None if proxied is None else proxied(configuration)
    if addresses is not None and addresses.is_used:
        from whimbrel.server.connection.proxy_protocol import ProxyProtocolReader  # rarely used

        above = factory

        def reader() -> asyncio.Protocol:
            return ProxyProtocolReader(service, above, addresses.expects)

        factory = reader
    return factory
