"""Header compression: cached blocks equal newly coded ones, and nothing grows beyond its bound (RFC 7541)."""

from __future__ import annotations

import random
import tracemalloc

import pytest

pytest.importorskip("hpack", reason="the optional package hpack is not installed")

from hpack import Decoder, Encoder
from tests.hostile.http2_frames import block, literal

from whimbrel.http.http2.hpack import MAX_CACHE, MAX_CACHED, MAX_LIST, MAX_TABLE, FieldDecoder, FieldEncoder
from whimbrel.http.http2.protocol import ConnectionFault, ErrorCode, HeadTooLong, answer_fields

BEFORE = b"HTTP/1.1 200 OK\r\nDate: "


def refusal(data: bytes) -> ErrorCode:
    with pytest.raises(ConnectionFault) as caught:
        FieldDecoder().decode(data)
    return caught.value.code


def test_cached_blocks_are_what_they_were_made_of() -> None:
    client, decoder, chance = Encoder(), FieldDecoder(), random.Random(1)
    hits = 0
    for _ in range(500):
        fields = [
            (b":path", b"/%d" % chance.randrange(3)),
            *[(b"x-%d" % n, b"%d" % chance.randrange(2)) for n in range(chance.randrange(3))],
        ]
        data = client.encode(fields)
        hits += data in decoder.known
        assert decoder.decode(data).fields == fields
    assert hits > 100


def test_cached_responses_are_what_they_were_made_of() -> None:
    encoder, client, chance = FieldEncoder(), Decoder(), random.Random(2)
    hits = 0
    for _ in range(500):
        after = b"\r\nX: %d\r\n%b\r\n" % (chance.randrange(4), b"Y: 1\r\n" * chance.randrange(2))
        if chance.random() < 0.1:
            size = chance.choice((0, 64, 4096, 1 << 31))
            encoder.resize(size)
            client.max_allowed_table_size = min(size, MAX_TABLE)
        hits += (BEFORE, b"now", after) in encoder.known
        assert tuple(client.decode(encoder.head(BEFORE, b"now", after), raw=True)) == tuple(
            answer_fields(BEFORE, b"now", after)
        )
    assert hits > 100


def test_the_cache_of_blocks_is_bounded_in_bytes() -> None:
    decoder = FieldDecoder()
    tracemalloc.start()
    try:
        for number in range(500):
            decoder.decode(block(("x", f"{number:02000}"))).raw_head(True)
        size = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert decoder.known and decoder.cached_bytes <= MAX_CACHE
    assert size <= 2 * MAX_CACHE, size


def test_a_large_block_is_not_cached() -> None:
    decoder = FieldDecoder()
    decoder.decode(b"\x82" * 2000)
    decoder.decode(block(("x", "y" * MAX_CACHED)))
    assert not decoder.known


def test_the_cache_of_responses_is_bounded_in_bytes() -> None:
    encoder = FieldEncoder()
    encoder.resize(0)  # nothing goes into the table, so that every block stays valid
    tracemalloc.start()
    try:
        for number in range(500):
            encoder.head(BEFORE, b"now", b"\r\nX: %03000d\r\n\r\n" % number)
        size = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert encoder.known and encoder.cached_bytes <= MAX_CACHE
    assert size <= 2 * MAX_CACHE, size


def test_the_encoders_table_is_bounded_whatever_the_client_allows() -> None:
    encoder = FieldEncoder()
    for number in range(1000):
        encoder.resize((1 << 32) - 1 - number % 2)
        encoder.head(BEFORE, b"now", b"\r\nX: %0500d\r\n\r\n" % number)
    table = encoder._hpack.header_table
    assert (
        table.maxsize == MAX_TABLE
        and sum(len(name) + len(value) + 32 for name, value in table.dynamic_entries) <= MAX_TABLE
    )


def test_a_flood_of_table_sizes_signals_two() -> None:
    encoder, client = FieldEncoder(), Decoder()
    for number in range(1000):
        encoder.resize(number % 7 * 100)
    data = encoder.head(BEFORE, b"now", b"\r\n\r\n")
    assert data[:1] == b"\x20" and len(data) < 30
    assert client.decode(data, raw=True)[0] == (b":status", b"200")
    assert client.header_table_size == 999 % 7 * 100


@pytest.mark.parametrize(
    "data",
    [
        b"\x80",
        b"\xff\xff\xff\x03",
        b"\0\x05ab",
        b"\0\x01a\x81\0",
        b"\x3f\xe2\x1f",
        b"\x82\x20",
        b"\x20" * 17 + b"\x82",
    ],
)
def test_broken_blocks(data: bytes) -> None:
    """RFC 9113, 4.3; a block that begins with more than two sizes is no conforming encoder's (RFC
    7541, 4.2).
    """
    assert refusal(data) is ErrorCode.COMPRESSION_ERROR


def test_a_bomb_of_indexed_fields_is_refused() -> None:
    """One byte for each copy of an entry of 4,000 bytes."""
    bomb = literal(("x", "y" * 4000), indexed=True) + b"\xbe" * (MAX_LIST // 4033 + 1)
    assert refusal(bomb) is ErrorCode.ENHANCE_YOUR_CALM


@pytest.mark.parametrize(("limit", "size"), [(1000, 827), (0, 65536 - 173)])
def test_heads_beyond_the_limit_of_nghttp2_are_not_sent(limit: int, size: int) -> None:
    """2.4.71 sends the five fields below with 827 characters under H2MaxHeaderBlockLen 1000, not with 828."""
    fields = [
        (b":status", b"200"),
        (b"content-type", b"text/plain"),
        (b"date", b"Sun, 22 Nov 2026 20:45:43 GMT"),
        (b"server", b"Apache/2.4.71 (Debian)"),
    ]
    encoder = FieldEncoder(limit)
    assert encoder.encode([*fields, (b"x-a", b"a" * size)])
    with pytest.raises(HeadTooLong):
        encoder.encode([*fields, (b"x-a", b"a" * (size + 1))])
