"""What we change of the h2 package's connection: the package changes without notice."""

from __future__ import annotations

import random

import pytest

pytest.importorskip("h2", reason="the optional package h2 is not installed")

from h2.connection import H2Connection
from h2.events import RequestReceived, ResponseReceived, StreamEnded
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes
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
            block = wire.block_of(wire, own, lambda own=own: [(b":status", b"200"), (b"x", own)])  # type: ignore[misc]
            frames = wire.answer(number, block, b"body")
        got = client.receive_data(frames)
        (answer,) = [e for e in got if isinstance(e, ResponseReceived)]
        assert dict(answer.headers)[b"x"] == own
        assert any(isinstance(e, StreamEnded) for e in got)


def test_blocks_that_are_remembered_are_read_as_what_they_were_made_of() -> None:
    client, wire = pair()
    chance = random.Random(4)
    for number in range(1, 400, 2):
        client.send_headers(number, GET, end_stream=True)
        frame = client.data_to_send()
        assert wire.read(number, frame, 0, len(frame)) is not None
        fields = [(b":status", b"200"), *[(b"x-%d" % n, b"%d" % chance.randrange(2)) for n in range(chance.randrange(3))]]
        if chance.random() < 0.1:
            client.update_settings({SettingCodes.HEADER_TABLE_SIZE: chance.choice((0, 64, 4096))})
            wire.receive_data(client.data_to_send())
            client.receive_data(wire.data_to_send())
        got = client.receive_data(wire.answer(number, wire.block(fields), b""))
        (answer,) = [e for e in got if isinstance(e, ResponseReceived)]
        assert list(answer.headers) == fields
    assert wire._encoded


def test_a_request_that_was_read_may_still_have_a_stream() -> None:
    client, wire = pair()
    for number in range(1, 9, 2):
        fields = [*GET[:3], (":path", f"/{number}"), ("x", "1")]
        client.send_headers(number, fields, end_stream=True)
        frame = client.data_to_send()
        found = wire.read(number, frame, 0, len(frame))
        assert found == [(name.encode(), value.encode()) for name, value in fields]
        if number % 4 == 1:
            client.receive_data(wire.answer(number, wire.block([(b":status", b"204")]), b""))
        else:
            events = wire.adopt(frame, found)
            assert [e.headers for e in events if isinstance(e, RequestReceived)] == [found]
            wire.send_headers(number, [(b":status", b"200"), (b"y", b"2")], end_stream=True)
            assert any(isinstance(e, StreamEnded) for e in client.receive_data(wire.data_to_send()))


def test_frames_that_have_to_go_the_whole_way() -> None:
    client, wire = pair()
    client.send_headers(5, GET, end_stream=True)
    frame = client.data_to_send()
    for number, data in ((4, frame), (5, frame[:5] + b"\x80" + frame[6:]), (5, frame[:4] + b"\x25" + frame[5:9] + b"\0\0\0\5\0" + frame[9:])):
        assert wire.read(number, data, 0, len(data)) is None
    broken = frame[:9] + b"\xff\xff\xff\xff\x7f"
    assert wire.read(5, broken, 0, len(broken)) is None
    with pytest.raises(ProtocolError):
        wire.receive_data(len(broken[9:]).to_bytes(3) + broken[3:])
