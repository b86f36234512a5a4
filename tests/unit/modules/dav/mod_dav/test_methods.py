"""Blocking work of methods: other clients get their turn, and a client that goes away ends it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from whimbrel.engine.input.body import ready_body
from whimbrel.modules.dav.mod_dav import methods
from whimbrel.modules.dav.mod_dav.provider import Resource


def request() -> Any:
    """A request whose runtime has real threads."""

    class Runtime:
        @staticmethod
        async def in_thread(work: Any) -> Any:
            running = asyncio.get_running_loop().run_in_executor(None, work)
            try:
                return await asyncio.shield(running)
            except asyncio.CancelledError:  # as the runtime of a worker does
                await asyncio.wait({running})
                raise

    cache = SimpleNamespace(known={"stale": 1})
    return SimpleNamespace(engine=SimpleNamespace(runtime=Runtime(), stat_cache=cache))


def endless(ended: list[str]) -> Iterator[None]:
    """Steps without end; *ended* tells when they are closed."""
    try:
        while True:
            time.sleep(0.001)
            yield
    finally:
        ended.append("closed")


def test_steps_end_with_their_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "SLICE", 0.005)
    ended: list[str] = []

    async def run() -> None:
        r = request()
        work = asyncio.create_task(methods.run_steps(r, endless(ended)))
        await asyncio.sleep(0.02)
        assert not ended
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert r.engine.stat_cache.known == {}

    asyncio.run(run())
    assert ended == ["closed"]


def test_steps_are_run_to_their_end() -> None:
    done: list[int] = []

    def steps() -> Iterator[None]:
        for number in range(3):
            done.append(number)
            yield

    asyncio.run(methods.run_steps(request(), steps()))
    assert done == [0, 1, 2]


class Slow(Resource):
    """A resource whose uploads take time to begin."""

    def __init__(self, log: list[str]) -> None:
        super().__init__("/x", "/x", exists=False, is_collection=False)
        self.log = log

    def upload(self, position: int | None) -> Any:
        """Begin an upload."""
        time.sleep(0.02)
        return SimpleNamespace(write=self.log.append, abort=lambda: self.log.append(b"aborted"))


def test_an_upload_ends_with_its_client() -> None:
    log: list[Any] = []

    async def run() -> None:
        r = request()
        r.body_in = ready_body(b"x" * (methods.SMALL + 1))
        work = asyncio.create_task(methods._store(r, Slow(log), None))
        await asyncio.sleep(0.005)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work

    asyncio.run(run())
    assert log[-1] == b"aborted"


def test_a_destination_in_another_repository_is_a_bad_gateway() -> None:
    """RFC 4918, 9.8.5: 502 for a destination that another server has."""

    class One:
        exists = False

    class Other(One):
        pass

    refused: Any = methods._refusal(
        SimpleNamespace(headers_in={}),  # type: ignore[arg-type]
        One(),  # type: ignore[arg-type]
        Other(),  # type: ignore[arg-type]
    )
    assert refused[0] == 502 and "between repositories" in refused[1]
