"""ClientHello messages of the ssl module, whole, in pieces, in several records, and damaged."""

from __future__ import annotations

import random
import ssl

import pytest

from whimbrel.http.syntax.client_hello import (
    MAX_HELLO,
    MAX_RECEIVED,
    ClientHello,
    ClientHelloReader,
    NotClientHello,
)

TLS_1_3 = 0x0304


def read_client_hello(data: bytes, size: int = 1 << 20) -> ClientHello | None:
    """Return what a reader makes of *data* in pieces of *size* bytes."""
    reader, found = ClientHelloReader(), None
    for at in range(0, len(data), size):
        assert found is None
        found = reader.feed(data[at : at + size])
    return found


def hello(name: str | None, protocols: list[str], most: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> bytes:
    """Return the first bytes that a client sends."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.maximum_version = most
    if protocols:
        context.set_alpn_protocols(protocols)
    inlet, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(inlet, out, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return out.read()


def in_records(data: bytes, size: int) -> bytes:
    """Return a message of one record in records of *size* bytes."""
    body = data[5:]
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(data[:3] + len(piece).to_bytes(2, "big") + piece for piece in pieces)


def test_a_hello_has_name_protocols_and_version() -> None:
    assert read_client_hello(hello("WWW.Example.org", ["h2", "http/1.1"])) == ClientHello(
        "WWW.Example.org", (b"h2", b"http/1.1"), TLS_1_3
    )
    assert read_client_hello(hello(None, [], ssl.TLSVersion.TLSv1_2)) == ClientHello("", (), 0x0303)


@pytest.mark.parametrize("rest", [b"\x14\3\3\0\1\1", b"\x17\3\3\0\4data", b"?"])
def test_bytes_behind_the_message_change_nothing(rest: bytes) -> None:
    """A client that sends early data adds a record of another type in the same segment (RFC 8446, 2.3)."""
    first = hello("a.example", ["h2"])
    assert read_client_hello(first + rest) == read_client_hello(first)


@pytest.mark.parametrize("size", [1, 3, 50, 100_000])
def test_a_message_in_several_records_is_read(size: int) -> None:
    records = in_records(hello("a.example", ["h2"]), size)
    for piece in (1, 7, len(records)):
        assert read_client_hello(records, piece) == ClientHello("a.example", (b"h2",), TLS_1_3)


def test_every_beginning_of_a_message_is_incomplete() -> None:
    data = hello("a.example", ["h2"])
    assert all(read_client_hello(data[:size]) is None for size in range(len(data)))
    assert all(read_client_hello(in_records(data, 40)[:size]) is None for size in range(len(data)))


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n",
        b"\x80\x2e\x01\x00\x02",  # SSL 2
        b"\x15\x03\x01\x00\x02\x01\x00",  # an alert
        b"\x16\x02\x01\x00\x10",
        b"\x16\x03\x01\x00\x00",
        b"\x16\x03\x01\xff\xff\x01",
        b"\x16\x03\x01\x00\x04\x02\x00\x00\x00",  # ServerHello
        b"\x16\x03\x01\x00\x04\x01" + (MAX_HELLO + 1).to_bytes(3, "big"),
        b"\x16\x03\x01\x00\x06\x01\x00\x00\x02\x03\x03",  # ends early
    ],
)
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(NotClientHello):
        read_client_hello(data)


def outcome(data: bytes, size: int) -> ClientHello | str | None:
    """Return what a reader makes of *data* in pieces of *size* bytes, "refused" for NotClientHello.

    A whole message ends the reading.
    """
    reader = ClientHelloReader()
    try:
        for at in range(0, len(data), size):
            found = reader.feed(data[at : at + size])
            if found is not None:
                return found
    except NotClientHello:
        return "refused"
    return None


def test_damaged_messages_are_the_same_whole_and_in_pieces() -> None:
    """A message that arrives whole is read in another way than one in pieces."""
    dice = random.Random(4)
    data = hello("a.example", ["h2", "http/1.1"])
    kinds = set()
    for _ in range(3000):
        damaged = bytearray(data)
        for _ in range(dice.randrange(1, 4)):
            damaged[dice.randrange(len(damaged))] = dice.choice((0, 1, 2, 3, 255, dice.randrange(256)))
        if dice.random() < 0.3:
            del damaged[dice.randrange(9, len(damaged)) :]
            damaged[3:5] = (len(damaged) - 5).to_bytes(2)
            damaged[6:9] = (len(damaged) - 9).to_bytes(3)
        found = outcome(bytes(damaged), len(damaged))
        assert found == outcome(bytes(damaged), 7), damaged.hex()
        kinds.add(found.__class__)
    assert kinds == {ClientHello, str, type(None)}


def test_a_message_that_never_ends_is_bounded() -> None:
    reader, record = ClientHelloReader(), b"\x16\x03\x01\x00\x01"
    reader.feed(b"\x16\x03\x01\x00\x04\x01\x00\xf0\x00")
    with pytest.raises(NotClientHello):
        for _ in range(MAX_RECEIVED):
            reader.feed(record + b"\0")
    assert reader.received <= MAX_RECEIVED + 16
