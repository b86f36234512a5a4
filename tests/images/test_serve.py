"""An image of a machine answers alike in `whimbrel serve` and in the tools."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from pathlib import Path

import pytest

from tests.support.machine_image import CLIENTS, URLS, random_urls, write_image
from tests.support.served_copy import served
from whimbrel.engine.engine import Engine
from whimbrel.engine.request import Connection
from whimbrel.testing.client import TestClient
from whimbrel.testing.fake_runtime import FakeRuntime
from whimbrel.upgrade.source.named_sources import ConfigArguments, sources
from whimbrel.verify.loading import load_side
from whimbrel.verify.probe import Probe


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_image(tmp_path_factory.mktemp("machine"))


def served_statuses(image: Path, urls: Iterable[str]) -> dict[tuple[str, str], int]:
    """Return the status of `serve` for each client and URL."""
    found = {}
    with served(image, dialect="2.2") as loader:
        engine = Engine(loader.load_to_serve(), FakeRuntime())
        for client, url in product(CLIENTS, urls):
            host, _, path = url.removeprefix("http://").partition("/")
            head = f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
            connection = TestClient(engine, Connection(client, 50000, "127.0.0.1", 80))
            found[client, url] = int(connection.send(head.encode()).split(b" ", 2)[1])
    return found


def test_served_answers_are_those_of_the_tools(image: Path) -> None:
    what, _ = sources(ConfigArguments([image]))
    assert what.options is not None
    side = load_side(what.options, "2.2")
    found = {}
    served_ones = served_statuses(image, (*URLS, *random_urls(100, 7)))
    for client, url in served_ones:
        host, _, path = url.removeprefix("http://").partition("/")
        found[client, url] = side.answer(Probe(f"/{path}", host=host, client=client)).status
    assert found == served_ones
    assert {200, 301, 401, 403, 404} <= set(served_ones.values())
