"""One process of analysis: later jobs replace earlier ones, time is limited, a new process takes over."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from whimbrel.studio.analyst import MAX_WAITING, Analyst, Superseded
from whimbrel.studio.documents import Refused
from whimbrel.studio.nursery import start_nursery
from whimbrel.studio.process import DONE, LENGTH, MAX_REPLY, REFUSED, frame


def slow_process(connection: socket.socket) -> None:
    """Answer a job `sleep SECONDS` after that time; others at once, with the length of the job."""
    with connection.makefile("rb") as stream:
        while len(head := stream.read(LENGTH)) == LENGTH:
            payload = stream.read(int.from_bytes(head, "big"))
            if b'"sleep"' in payload:
                time.sleep(60)
            if b'"refuse"' in payload:
                connection.sendall(frame(REFUSED + b'{"error":"no","status":409}'))
            else:
                connection.sendall(frame(DONE + payload))


@contextmanager
def analyst() -> Iterator[Analyst]:
    control, hello = start_nursery(lambda: (slow_process, b"ready"))
    assert hello == b"ready"
    try:
        yield Analyst(control, "test")
    finally:
        control.close()


async def run(one: Analyst, job: str, *, seconds: float = 30, replaces: bool = False) -> bytes:
    return await one.run(job, {}, "0", {}, seconds=seconds, replaces=replaces, ends=replaces)


def test_a_job_that_takes_too_long_is_ended_and_the_next_one_works() -> None:
    async def work(one: Analyst) -> None:
        with pytest.raises(Refused, match="stopped after"):
            await run(one, "sleep", seconds=0.2)
        assert b'"quick"' in await run(one, "quick")

    with analyst() as one:
        asyncio.run(work(one))


def test_a_later_job_of_the_same_kind_replaces_one_that_runs() -> None:
    async def work(one: Analyst) -> None:
        first = asyncio.ensure_future(run(one, "sleep", replaces=True))
        while not one._running:
            await asyncio.sleep(0)
        second = asyncio.ensure_future(run(one, "sleep", seconds=0.3, replaces=True))
        with pytest.raises(Superseded):
            await first
        with pytest.raises(Refused):
            await second

    with analyst() as one:
        asyncio.run(work(one))


def test_an_interrupted_job_says_that_it_was_interrupted() -> None:
    """No later job has taken its place: the page must not wait for an answer that never comes."""

    async def work(one: Analyst) -> None:
        for replaces in (False, True):
            job = asyncio.ensure_future(run(one, "sleep", replaces=replaces))
            while one._streams is None:
                await asyncio.sleep(0)
            one.restart()
            with pytest.raises(Refused, match="interrupted") as refused:
                await job
            assert refused.value.status == 503
        assert b'"quick"' in await run(one, "quick")

    with analyst() as one:
        asyncio.run(work(one))


def test_a_reply_beyond_the_bound_is_not_read() -> None:
    def long_winded(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.sendall((MAX_REPLY + 1).to_bytes(LENGTH, "big"))
        connection.recv(1)

    async def work(one: Analyst) -> None:
        with pytest.raises(Refused, match="interrupted"):
            await run(one, "a")

    control, _hello = start_nursery(lambda: (long_winded, b"ready"))
    with control:
        asyncio.run(work(Analyst(control, "test")))


def test_a_failed_preparation_is_the_first_message() -> None:
    for prepare, expected in ((lambda: (None, b"no file"), b"no file"), (lambda: 1 // 0, b"")):
        control, hello = start_nursery(prepare)
        control.close()
        assert hello == expected


def test_a_reason_is_passed_on_and_the_process_lives() -> None:
    async def work(one: Analyst) -> None:
        with pytest.raises(Refused, match="no") as refused:
            await run(one, "refuse")
        assert refused.value.status == 409
        assert await run(one, "a")
        assert await run(one, "b")

    with analyst() as one:
        asyncio.run(work(one))


def test_jobs_that_wait_give_way_to_later_ones() -> None:
    async def work(one: Analyst) -> None:
        first = asyncio.ensure_future(run(one, "a"))
        jobs = [one.run("answer", {}, "0", {}, seconds=30, replaces=True) for _ in range(5)]
        others = [run(one, "file") for _ in range(3)]
        results = await asyncio.gather(first, *jobs, *others, return_exceptions=True)
        assert [type(result) for result in results] == [bytes, *[Superseded] * 4, *[bytes] * 4]

    with analyst() as one:
        asyncio.run(work(one))


def test_jobs_that_wait_are_bounded() -> None:
    async def work(one: Analyst) -> None:
        jobs = [run(one, "file") for _ in range(MAX_WAITING + 1)]
        results = await asyncio.gather(*jobs, return_exceptions=True)
        assert [type(result) for result in results] == [*[bytes] * MAX_WAITING, Refused]

    with analyst() as one:
        asyncio.run(work(one))


def test_a_client_that_leaves_leaves_the_process_usable() -> None:
    async def work(one: Analyst) -> None:
        for _ in range(5):
            left = asyncio.ensure_future(run(one, "a"))
            await asyncio.sleep(0)
            left.cancel()
        assert b'"b"' in await run(one, "b")

    with analyst() as one:
        asyncio.run(work(one))


def test_without_a_nursery_there_is_a_sentence() -> None:
    async def work(one: Analyst) -> None:
        for _ in range(2):
            with pytest.raises(Refused, match="start it again"):
                await run(one, "a")

    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    theirs.close()
    with ours:
        asyncio.run(work(Analyst(ours, "test")))


def test_texts_are_sent_once_for_each_version() -> None:
    async def work(one: Analyst) -> None:
        assert b"null]" not in await run(one, "a")
        assert b"null]" in await run(one, "a")

    with analyst() as one:
        asyncio.run(work(one))
