"""A layer passes bytes and states in both directions, and hides the socket."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.support.fakes import FakeTransport

from whimbrel.server.connection.layer import ConnectionLayer


class Recorder(asyncio.Protocol):
    """A protocol that records its calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.calls.append(("made", transport))

    def connection_lost(self, exc: Exception | None) -> None:
        self.calls.append(("lost", exc))

    def data_received(self, data: bytes) -> None:
        self.calls.append(("data", data))

    def eof_received(self) -> bool:
        self.calls.append(("eof",))
        return True

    def pause_writing(self) -> None:
        self.calls.append(("pause",))

    def resume_writing(self) -> None:
        self.calls.append(("resume",))


class Reversing(ConnectionLayer):
    """A layer that reverses each piece of data, as a cipher would change it."""

    def make_inner(self) -> Recorder:
        return Recorder()

    def data_received(self, data: bytes) -> None:
        super().data_received(data[::-1])

    def write(self, data: Any) -> None:
        super().write(bytes(data)[::-1])


def test_bytes_pass_in_both_directions() -> None:
    layer, wire = Reversing(), FakeTransport()
    layer.connection_made(wire)
    inner: Any = layer.inner
    layer.data_received(b"abc")
    layer.pause_writing()
    layer.resume_writing()
    assert layer.eof_received() is True
    layer.connection_lost(None)
    assert inner.calls == [
        ("made", layer),
        ("data", b"cba"),
        ("pause",),
        ("resume",),
        ("eof",),
        ("lost", None),
    ]
    layer.write(b"12")
    layer.writelines([b"34", b"56"])
    assert wire.out == b"214365"


def test_the_transport_of_the_protocol_above() -> None:
    layer, wire = Reversing(), FakeTransport()
    wire._extra["socket"] = object()  # type: ignore[attr-defined]
    layer.connection_made(wire)
    assert layer.get_extra_info("socket") is None
    assert layer.get_extra_info("peername") == wire.get_extra_info("peername")
    other = Recorder()
    layer.set_protocol(other)
    layer.data_received(b"x")
    assert (layer.get_protocol(), other.calls) == (other, [("data", b"x")])
    layer.set_write_buffer_limits(high=1)
    assert layer.get_write_buffer_size() == 0
    layer.pause_reading()
    assert wire.is_paused
    layer.resume_reading()
    assert not wire.is_paused
    assert layer.can_write_eof()
    layer.write_eof()
    assert wire.has_eof
    layer.close()
    assert wire.is_closed and layer.is_closing()
