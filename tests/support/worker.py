"""A worker's state on an engine, without a process and without sockets."""

from __future__ import annotations

from tests.support.fakes import SERVER, FakeLoop, FakeTransport
from whimbrel.engine.engine import Engine
from whimbrel.server.http1.connection import Http1Connection
from whimbrel.server.worker.state import WorkerState
from whimbrel.testing.fake_runtime import FakeRuntime


class WorkerHarness:
    """A `WorkerState` on a `FakeLoop`; `connect` accepts a connection, `exchange` feeds it.

    Attributes:
        problems: the exceptions that the worker reported
    """

    transport_type: type[FakeTransport] = FakeTransport

    def __init__(self, engine: Engine, loop: FakeLoop | None = None) -> None:
        self.engine = engine
        self.loop = loop or FakeLoop()
        self.problems: list[BaseException] = []
        self.service = WorkerState(engine, self.loop, report=self.problems.append)  # type: ignore[arg-type]
        self.service.round = float("inf")  # ticks of a `FakeLoop` are long

    def connect(
        self, client: tuple[str, int], server: tuple[str, int] = SERVER
    ) -> tuple[Http1Connection, FakeTransport]:
        """Return a connection that has just been accepted, and its transport."""
        transport = self.transport_type(client, server)
        connection = Http1Connection(self.service)
        connection.connection_made(transport)
        return connection, transport

    def exchange(
        self, connection: tuple[Http1Connection, FakeTransport], data: bytes
    ) -> tuple[bytes, dict[str, list[bytes]]]:
        """Return the bytes written in response to *data*, and the lines logged by target."""
        runtime = self.engine.runtime
        assert isinstance(runtime, FakeRuntime)
        protocol, transport = connection
        runtime.logs.clear()
        transport.out = b""
        protocol.data_received(data)
        self.service.write_gathered()
        assert not self.problems, self.problems
        return transport.out, {name: list(lines) for name, lines in runtime.logs.items()}
