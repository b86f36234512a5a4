"""Storage of request bodies of streams."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("hpack", reason="the optional package hpack is not installed")

from whimbrel.server.http2.stream import JOIN_THRESHOLD, StreamBody


class Session:
    """The part of a connection that a body uses."""

    waiting = 0

    def __init__(self) -> None:
        self.taken = 0

    def release_window(self, number: int, size: int) -> None:
        self.taken += size

    def flush(self) -> None:
        """Do nothing: no frame is pending."""


def test_small_pieces_are_joined() -> None:
    """A separate object for each byte takes 40."""
    session = Session()
    body = StreamBody(None, session, 1)  # type: ignore[arg-type]
    for number in range(60_000):
        body.feed(b"%d" % (number % 10))
    assert len(body._chunks) <= 60_000 // JOIN_THRESHOLD + 1
    assert (body.received, body.buffered) == (0, 60_000)
    body.end()
    assert asyncio.run(body.read()) == b"0123456789" * 6000
    assert session.taken == body.received == 60_000
