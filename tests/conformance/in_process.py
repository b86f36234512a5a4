"""The recorded cases asked of the engine in this process: no server, no socket, the judge's own comparison.

A copy of run.py of its own gets a stand-in for harness.Server: the server root is built exactly as for a real program, `start`
reads the configuration into an engine, and a request's bytes go through `whimbrel.testing.wire.Client` instead of a socket.
"""

from __future__ import annotations

import socket
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from tests.conformance.cases import Case
from tests.conformance.judge import MODULE_DIR, fresh, load
from whimbrel.config.load import load as load_configuration
from whimbrel.config.messages import format_error
from whimbrel.config.options import LoadOptions
from whimbrel.dialect import DIALECTS
from whimbrel.errors import ConfigError, StartError
from whimbrel.modules import ALL
from whimbrel.octets import from_system
from whimbrel.request.engine import Engine
from whimbrel.request.record import Connection
from whimbrel.testing.standin import StandIn
from whimbrel.testing.wire import Client

CLIENT_PORT = 50000


class Pipe:
    """The part of a socket that harness.Server uses, with an engine at the other end."""

    def __init__(self, client: Client) -> None:
        self.client, self.incoming = client, bytearray()

    def sendall(self, data: bytes) -> None:
        self.incoming += self.client.send(data)

    def recv(self, size: int, flags: int = 0) -> bytes:
        """What is there; b"" once the connection is closed (or half a request will never become whole), TimeoutError while it is open."""
        if not self.incoming and self.client.buffer:
            self.incoming += self.client.send(b"", last=True)
        data = bytes(self.incoming[:size])
        if not data and not self.client.closed:
            raise TimeoutError("timed out")
        if not flags & socket.MSG_PEEK:
            del self.incoming[:size]
        return data

    def settimeout(self, _: float) -> None: ...

    def close(self) -> None: ...


def engine_for(server: Any, version: str, runtime: StandIn) -> Engine:
    """The engine of a built server root; raises ConfigError or StartError as the configuration deserves."""
    options = LoadOptions(
        server_root=from_system(server.root),
        file=from_system(f"{server.root}/conf/httpd.conf"),
        defines=tuple(server.defines),
        before=(f'Include "{server.root}/conf/preamble.conf"',),
        environment=server.environment(),
    )
    return Engine(load_configuration(options, ALL, DIALECTS[version]), runtime)


def connect(engine: Engine, request: Case, port: int, serial: int) -> Pipe:
    """A connection from the client address of a recorded request."""
    here = Connection(request.get("source") or "127.0.0.1", CLIENT_PORT + serial % 10000, request.get("addr", "127.0.0.1"), port)
    return Pipe(Client(engine, here))


@cache
def judge() -> ModuleType:
    """A run.py whose servers are engines, and who never sleeps."""
    load()  # skips where there is no judge
    run = fresh("run")
    run.harness = SimpleNamespace(**{**vars(run.harness), "Server": in_process(run.harness.Server)})
    run.time = SimpleNamespace(**{**vars(run.time), "sleep": lambda _: None})
    return run


def in_process(base: Any) -> Any:
    """harness.Server with an engine in the place of a process."""

    class Server(base):  # type: ignore[misc]
        engine: Engine | None = None
        runtime: StandIn
        serial = 0

        def start(self) -> bool:
            self.runtime = StandIn()
            try:
                self.engine = engine_for(self, self.version, self.runtime)
            except (ConfigError, StartError) as problem:
                Path(self.root, "stderr.txt").write_text(format_error(problem, DIALECTS[self.version]), encoding="latin-1")
                return False
            return True

        def stop(self) -> None:
            """Writes what the engine has logged where the judge reads it: the target of a sink is its path."""
            for target, parts in (self.runtime.logs if self.engine else {}).items():
                path = Path(self.root, target).resolve()
                if not path.is_relative_to(Path(self.root).resolve()):
                    continue  # a log elsewhere on this machine is not ours to write
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(b"".join(parts))
            self.connections = {}

        def _connect(self, req: Case) -> Pipe:
            assert self.engine is not None
            self.serial += 1
            port = int(self.fill(str(req.get("port", self.ports[0]))))
            return connect(self.engine, req, port, self.serial)

    return Server


WAITS = ("chunks", "pause", "tls", "cert", "until_close")


def possible(case: Case, version: str) -> bool:
    """Whether a case can be asked without a server: a site of plain requests, with no back end and no TLS."""
    if case.get("kind", "site") != "site" or version not in case["answers"] or case.get("backends"):
        return False
    return not any(request.get(key) for request in case["requests"] for key in WAITS)


def answer(case: Case, version: str) -> dict[str, Any]:
    """The result of asking one case, as run.py reports it."""
    run = judge()
    program = run.harness.Program(["whimbrel"], MODULE_DIR, frozenset(run.harness.BUILTIN[version].split(",")))
    result: dict[str, Any] = run.run_case(case, program, version)
    return result
