"""The recorded cases asked of an engine in this process: no server and no socket, the same comparison.

The server root is built as for a real program; `start` reads the configuration into an engine, and the bytes
of a request go through `whimbrel.testing.client.Client` instead of a socket.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from functools import cache
from pathlib import Path
from unittest import mock

from tests.conformance.case import Case, Request, Version
from tests.conformance.client import Client as RecordedClient
from tests.conformance.evaluate import Result, evaluate_site
from tests.conformance.program import MODULE_DIRECTORY
from tests.conformance.site import BUILT_IN, Modules, RecordedSite
from whimbrel.base.dialect import DIALECTS
from whimbrel.base.errors import ConfigError, StartError
from whimbrel.base.latin1 import from_system
from whimbrel.config.load import load as load_configuration
from whimbrel.config.messages import format_error
from whimbrel.config.options import LoadOptions
from whimbrel.engine.engine import Engine
from whimbrel.engine.request import Connection
from whimbrel.modules import ALL
from whimbrel.testing.client import TestClient
from whimbrel.testing.fake_runtime import FakeRuntime

CLIENT_PORT = 50000


@cache
def event_loop() -> asyncio.AbstractEventLoop:
    """The event loop of all requests of this process."""
    return asyncio.new_event_loop()


class EnginePipe:
    """The transport of a client whose server is an engine."""

    def __init__(self, client: TestClient) -> None:
        self.client, self.incoming = client, bytearray()

    def sendall(self, data: bytes) -> None:
        """Give the engine the bytes; its responses can be received at once."""
        self.incoming += self.client.send(data)

    def recv(self, size: int, flags: int = 0) -> bytes:
        """Return received bytes, or b"" once the connection is closed; raise TimeoutError while it is open.

        An incomplete request in the buffer is ended, since the client sends no more of it.
        """
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


class EngineClient(RecordedClient):
    """The client of recorded requests, connected to an engine; it does not wait."""

    def __init__(self, site: RecordedSite) -> None:
        super().__init__(site)
        self.engine: Engine | None = None
        self.connections_opened = 0

    def connect(self, request: Request) -> EnginePipe:
        assert self.engine is not None
        self.connections_opened += 1
        source, port = request.source or "127.0.0.1", CLIENT_PORT + self.connections_opened % 10000
        connection = Connection(source, port, request.addr, int(self.site.expand(request.port)))
        return EnginePipe(TestClient(self.engine, connection, event_loop()))

    def wait(self, seconds: float) -> None: ...


class EngineServer:
    """A site that is served by an engine in this process."""

    def __init__(self, site: RecordedSite, *, origins: bool = False) -> None:
        self.site, self.client, self.origins = site, EngineClient(site), origins
        self.runtime = FakeRuntime()

    def start(self) -> bool:
        """Read the configuration; write the message of a failure where a program writes it."""
        try:
            self.client.engine = load_engine(self.site, self.runtime, origins=self.origins)
        except (ConfigError, StartError) as error:
            text = format_error(error, DIALECTS[self.site.case.version])
            Path(self.site.path("stderr.txt")).write_text(text, encoding="latin-1")
            return False
        return True

    def wait_for_logs(self, lines: int) -> None:
        """Return at once: `stop` writes the logs."""

    def stop(self) -> None:
        """Write the logs of the engine to the files that they name below the server root."""
        root = Path(self.site.root).resolve()
        for target, parts in self.runtime.logs.items() if self.client.engine else ():
            path = Path(root, target).resolve()
            if path.is_relative_to(root):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(b"".join(parts))


def load_engine(site: RecordedSite, runtime: FakeRuntime, *, origins: bool = False) -> Engine:
    """The engine of a site; raises ConfigError or StartError as the program would."""
    options = LoadOptions(
        server_root=from_system(site.root),
        file=from_system(site.path("conf/httpd.conf")),
        defines=site.case.defines,
        before=(f'Include "{site.root}/conf/preamble.conf"',),
        environment=site.environment(),
        origins=origins,
    )
    configuration = load_configuration(options, ALL, DIALECTS[site.case.version])
    runtime.open_segments(configuration)
    return Engine(configuration, runtime)


def is_possible(case: Case) -> bool:
    """Return True for a site of plain requests, without backends, TLS and waiting.

    A site that passes requests on to itself needs a socket, too.
    """
    return (
        case.kind == "site"
        and not case.backends
        and "//127.0.0.1:@PORT" not in case.conf
        and not any(
            request.chunks or request.pause or request.tls or request.cert or request.until_close
            for request in case.requests
        )
    )


def answer(case: Case) -> Result:
    """The result of asking an engine one case, in the server root as working directory."""
    with (
        RecordedSite(case, modules(case.version)) as site,
        contextlib.chdir(site.root),
        mock.patch.dict(os.environ, site.environment()),  # PassEnv reads the environment of the process
    ):
        return evaluate_site(EngineServer(site))


def modules(version: Version) -> Modules:
    """The modules of Whimbrel in place of those of the recorded server."""
    return Modules(MODULE_DIRECTORY, BUILT_IN[version])
