"""An image of a machine answers alike in `whimbrel serve` and in the tools."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.machine_image import CLIENTS, URLS, run, write_image
from tests.support.served_copy import served
from whimbrel.engine.engine import Engine
from whimbrel.engine.request import Connection
from whimbrel.testing.client import TestClient
from whimbrel.testing.fake_runtime import FakeRuntime


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_image(tmp_path_factory.mktemp("machine"))


def served_statuses(image: Path) -> dict[tuple[str, str], int]:
    """Return the status of `serve` for each client and URL."""
    found = {}
    with served(image, dialect="2.2") as loader:
        engine = Engine(loader.load_to_serve(), FakeRuntime())
        for client in CLIENTS:
            for url in URLS:
                host, _, path = url.removeprefix("http://").partition("/")
                head = f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
                connection = TestClient(engine, Connection(client, 50000, "127.0.0.1", 80))
                found[client, url] = int(connection.send(head.encode()).split(b" ", 2)[1])
    return found


def test_served_answers_are_explained_ones(image: Path) -> None:
    served_ones = served_statuses(image)
    explained = {}
    for client, url in served_ones:
        _, output = run("explain", url, "-d", image, "--dialect", "2.2", "--from", client)
        explained[client, url] = int(output[:3])
    assert explained == served_ones
    assert {200, 301, 401, 403, 404} <= set(served_ones.values())
