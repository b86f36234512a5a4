"""Requests whose client has gone: sources are closed, and the response is not cached."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from tests.performance.site import BenchmarkWorker

from whimbrel.engine.abandon import abandon
from whimbrel.engine.body import FileSegment, JoinedSource, Source
from whimbrel.engine.connection import Connection
from whimbrel.engine.request import Request


class Closing(Source):
    """A source that counts its ends."""

    def __init__(self) -> None:
        self.closed = 0

    async def aclose(self) -> None:
        self.closed += 1


def test_sources_and_files_of_all_redirects_are_closed(tmp_path: Path) -> None:
    engine = BenchmarkWorker(tmp_path).engine
    connection = Connection("192.0.2.7", 1, "192.0.2.1", 80)

    def request() -> Any:
        return Request(engine, connection, engine.main, engine.plans.root(engine.main))

    r, following = request(), request()
    r.next, connection.request = following, r
    handle = os.open(tmp_path / "httpd.conf", os.O_RDONLY)
    body, opened = Closing(), Closing()
    r.body, following.body = [b"x", FileSegment(handle, 0, 10)], [body]
    connection.open_sources.add(opened)
    response = asyncio.run(abandon(connection))
    assert (response.request, response.parts, body.closed, opened.closed) == (following, [], 1, 1)
    assert connection.aborted and not following.may_cache
    assert not Path(f"/proc/self/fd/{handle}").exists()


def test_a_source_that_is_dropped_by_a_cancellation_closes_its_files(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 100)
    handle = os.open(tmp_path / "a", os.O_RDONLY)
    source = JoinedSource([FileSegment(handle, 0, 100)])
    assert Path(f"/proc/self/fd/{handle}").exists()
    del source
    assert not Path(f"/proc/self/fd/{handle}").exists()
