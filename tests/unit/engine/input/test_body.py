"""Request bodies: limits, failures, waiting."""

from __future__ import annotations

import asyncio

import pytest

from whimbrel.engine.input.body import RequestBody
from whimbrel.http.http1.chunked import BodyError
from whimbrel.http.syntax.line_reader import LogMessage


def fed(*pieces: bytes, length: int | None = None) -> RequestBody:
    """A chunked body of *pieces*, complete."""
    body = RequestBody(length)
    for piece in pieces:
        body.feed(piece)
    body.end()
    return body


def test_a_body_is_read_as_it_arrived() -> None:
    body = fed(b"one", b"two")
    assert (body.buffered, body.ended) == (6, True)
    assert (asyncio.run(body.read()), asyncio.run(body.read()), body.received) == (b"onetwo", b"", 6)


def limited(body: RequestBody, limit: int) -> RequestBody:
    body.limit = limit
    return body


def test_a_request_without_body_has_ended() -> None:
    assert RequestBody(0).ended and asyncio.run(RequestBody(0).read_all()) == b""


def test_an_announced_length_beyond_the_limit_is_413_before_a_byte_is_read() -> None:
    """AH01588 with the length, as mod_http's HTTP_IN filter logs it."""
    with pytest.raises(BodyError) as refused:
        asyncio.run(limited(RequestBody(11), 10).read_all())
    assert (refused.value.status, refused.value.reason.code) == (413, "AH01588")
    assert "content-length of 11 is larger than the configured limit of 10" in refused.value.reason.text


@pytest.mark.parametrize("method", ["read_all", "discard"])
def test_a_chunked_body_is_413_once_the_limit_is_passed(method: str) -> None:
    asyncio.run(getattr(limited(fed(b"x" * 10), 10), method)())
    with pytest.raises(BodyError) as refused:
        asyncio.run(getattr(limited(fed(b"x" * 11), 10), method)())
    assert (refused.value.status, refused.value.reason.code) == (413, "AH01591")


def test_a_failure_is_raised_behind_the_bytes_that_came() -> None:
    body, failure = RequestBody(None), BodyError(400, LogMessage("error", "AH0", "broken"))
    body.feed(b"some")
    body.fail(failure)
    assert asyncio.run(body.read()) == b"some" and not body.failure_reported
    with pytest.raises(BodyError) as raised:
        asyncio.run(body.read())
    assert raised.value is failure and body.failure_reported


def test_the_first_read_demands_the_body() -> None:
    """on_demand sends 100 Continue; here it delivers the body itself."""
    demands: list[RequestBody] = []

    def deliver() -> None:
        demands.append(body)
        body.feed(b"late")
        body.end()

    body = RequestBody(4, deliver)
    assert (asyncio.run(body.read_all()), len(demands)) == (b"late", 1)


def test_a_reader_waits_for_the_next_bytes() -> None:
    async def scenario() -> bytes:
        body = RequestBody(None)
        reader = asyncio.create_task(body.read_all())
        for piece in (b"a", b"b"):
            await asyncio.sleep(0)
            body.feed(piece)
        body.end()
        return await reader

    assert asyncio.run(scenario()) == b"ab"
