"""The client of an engine without sockets: an event loop for each request, or one for all."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.support.engine import build_engine

from whimbrel.engine.engine import Engine
from whimbrel.engine.input.body import RequestBody
from whimbrel.engine.request import Connection
from whimbrel.http.syntax.head import Head
from whimbrel.testing.client import TestClient

REQUEST = b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return build_engine(tmp_path, "", {"htdocs/a.txt": "a text"})


def test_one_loop_has_the_answers_of_many(engine: Engine) -> None:
    answers = []
    with asyncio.Runner() as runner:
        for loop in (None, runner.get_loop()):
            client = TestClient(engine, Connection("127.0.0.1", 5000, "127.0.0.1", 80), loop)
            answers += [client.send(REQUEST).partition(b"\r\n\r\n")[2] for _ in range(2)]
    assert answers == [b"a text"] * 4


def test_nothing_is_read_behind_a_response_that_closes(engine: Engine) -> None:
    """The first response is made, a later one comes from the cache; the rest of the input is no head."""
    refused = b"GET /a%2 HTTP/1.1\r\nHost: a\r\n\r\n"
    for _ in range(4):
        client = TestClient(engine, Connection("127.0.0.1", 5000, "127.0.0.1", 80))
        answer = client.send(refused + b"rest\r\n\r\n") + client.send(b"", last=True)
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert answer.count(b"HTTP/1.1 ") == 1


def test_a_task_that_a_request_leaves_does_not_reach_the_next(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[asyncio.Task[None]] = []
    respond = engine.respond

    def leave(connection: Connection, head: Head, body: RequestBody) -> object:
        assert all(task.cancelled() for task in left)
        left.append(asyncio.get_running_loop().create_task(asyncio.sleep(60)))
        return respond(connection, head, body)

    monkeypatch.setattr(engine, "respond", leave)
    with asyncio.Runner() as runner:
        client = TestClient(engine, Connection("127.0.0.1", 5000, "127.0.0.1", 80), runner.get_loop())
        assert client.send(REQUEST).endswith(b"a text")
        assert left and all(task.cancelled() for task in left)
