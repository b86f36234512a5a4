"""Requests to an engine in this process, and their responses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.engine import build_engine
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.engine.body import JoinedSource
from whimbrel.engine.engine import Engine
from whimbrel.engine.input.body import RequestBody
from whimbrel.engine.parser_limits import head_limits, head_rules
from whimbrel.engine.request import Connection
from whimbrel.engine.response import Response
from whimbrel.http.syntax.head import read_head
from whimbrel.http.syntax.line_reader import InputState
from whimbrel.testing.client import TestClient
from whimbrel.testing.fake_runtime import FakeRuntime

VARYING = ("Date", "Server", "Connection")


@dataclass
class Reply:
    """One response: *headers* in order, without `VARYING`."""

    status: int
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: str = ""

    def get(self, name: str) -> str | None:
        """Return the first value of a header."""
        return next((v for n, v in self.headers if n.lower() == name.lower()), None)

    def all(self, name: str) -> list[str]:
        """Return every value of a header."""
        return [v for n, v in self.headers if n.lower() == name.lower()]


def dechunk(body: str) -> str:
    """Return a chunked body without its chunk sizes."""
    content = ""
    while body:
        size, _, body = body.partition("\r\n")
        content, body = content + body[: int(size, 16)], body[int(size, 16) + 2 :]
    return content


def decoded_body(reply: Reply) -> str:
    """Return the body without its transfer coding."""
    return dechunk(reply.body) if reply.get("Transfer-Encoding") == "chunked" else reply.body


def fetch(engine: Engine, path: str, *headers: str, method: str = "GET", body: str = "") -> Reply:
    """Return the response to one request on a new connection."""
    client = TestClient(engine, Connection("127.0.0.1", 50000, "127.0.0.1", 80))
    extra = [*headers, *([f"Content-Length: {len(body)}"] if body else [])]
    head = "\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close", *extra])
    data = client.send(f"{head}\r\n\r\n{body}".encode("latin-1")).decode("latin-1")
    top, _, rest = data.partition("\r\n\r\n")
    line, *fields = top.split("\r\n")
    pairs = [(n, v.strip()) for n, _, v in (f.partition(":") for f in fields)]
    return Reply(int(line.split()[1]), [pair for pair in pairs if pair[0] not in VARYING], rest)


def fetch_all(
    root: Path, conf: str, paths: list[str], files: Mapping[str, str] | None = None, version: str = "2.4"
) -> list[Reply]:
    """Return the responses to a GET of each path under one configuration."""
    engine = build_engine(root, conf, files, version)
    return [fetch(engine, path) for path in paths]


async def response_size(engine: Engine, path: str) -> int:
    """Return the number of body bytes of the response to a GET of *path*, read in the running loop."""
    core = engine.main.config(CoreServerConfig)
    data = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    head = read_head(data, head_limits(core), head_rules(core, engine.configuration), ending=InputState.OPEN)
    assert head is not None
    result = engine.respond(Connection("127.0.0.1", 50000, "127.0.0.1", 80), head, RequestBody(0))
    response = result if isinstance(result, Response) else await result
    size, source = 0, JoinedSource(response.parts)
    while (piece := await source.read()) is not None:
        size += len(piece)
    return size


def error_log(engine: Engine) -> str:
    """Return the text of the engine's error log."""
    runtime = engine.runtime
    assert isinstance(runtime, FakeRuntime)
    parts = [b"".join(lines) for target, lines in runtime.logs.items() if "error" in target]
    return b"".join(parts).decode("latin-1")
