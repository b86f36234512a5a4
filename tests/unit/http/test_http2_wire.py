"""What we change of the h2 package's connection: the package changes without notice."""

from __future__ import annotations

import pytest

pytest.importorskip("h2", reason="the optional package h2 is not installed")

from h2.connection import H2Connection
from h2.events import RequestReceived, ResponseReceived, StreamEnded
from hpack import Encoder

from whimbrel.http.http2_wire import Remembering, Wire

GET = [(":method", "GET"), (":scheme", "http"), (":authority", "a"), (":path", "/")]


def pair(limit: int = 100) -> tuple[H2Connection, Wire]:
    client, wire = H2Connection(), Wire(limit, 65535)
    client.initiate_connection()
    wire.begin()
    wire.receive_data(client.data_to_send())
    client.receive_data(wire.data_to_send())
    wire.receive_data(client.data_to_send())
    return client, wire


def test_more_streams_than_allowed_are_left_to_the_caller() -> None:
    client, wire = pair(1)
    client._open_streams = lambda remainder: 0  # type: ignore[method-assign]
    for number in (1, 3, 5):
        client.send_headers(number, GET)
    events = [e for e in wire.receive_data(client.data_to_send()) if isinstance(e, RequestReceived)]
    assert [e.stream_id for e in events] == [1, 3, 5]


def test_a_wrong_length_is_left_to_the_caller() -> None:
    client, wire = pair()
    client.send_headers(1, [*GET, ("content-length", "5")])
    client.send_data(1, b"ab", end_stream=True)
    assert [e.stream_id for e in wire.receive_data(client.data_to_send()) if isinstance(e, StreamEnded)] == [1]


def test_streams_go_on_after_a_goaway_of_the_client() -> None:
    client, wire = pair()
    client.send_headers(1, GET, end_stream=True)
    client.close_connection()
    wire.receive_data(client.data_to_send())
    wire.send_headers(1, [(b":status", b"204")], end_stream=True)
    assert wire.data_to_send()[3] == 1


def test_a_block_is_read_once_while_the_table_stays() -> None:
    decoder, encoder = Remembering(), Encoder()
    first, second = encoder.encode([("x", "1")]), encoder.encode([("x", "1")])
    assert decoder.decode(first, raw=True) == decoder.decode(second, raw=True) == [(b"x", b"1")]
    assert list(decoder.known) == [second]
    decoder.decode(encoder.encode([("y", "2")]), raw=True)
    assert not decoder.known
    assert decoder.decode(encoder.encode([("x", "1")]), raw=True) == [(b"x", b"1")]


def test_whole_answers_are_what_a_client_reads_between_others() -> None:
    client, wire = pair()
    for number in range(1, 15, 2):
        client.send_headers(number, GET, end_stream=True)
        wire.receive_data(client.data_to_send())
        own = b"%d" % (number // 6)
        if number % 4 == 1:
            wire.send_headers(number, [(b":status", b"200"), (b"x", own)], end_stream=True)
            frames = wire.data_to_send()
        else:
            wire.streams.pop(number)
            wire.highest_inbound_stream_id = number - 2
            frames = wire.answer(number, wire, own, lambda own=own: [(b":status", b"200"), (b"x", own)], b"body")  # type: ignore[misc]
        got = client.receive_data(frames)
        (answer,) = [e for e in got if isinstance(e, ResponseReceived)]
        assert dict(answer.headers)[b"x"] == own
        assert any(isinstance(e, StreamEnded) for e in got)
