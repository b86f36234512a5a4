"""HTTP/2 back ends that send odd, broken and endless frames."""

from __future__ import annotations

import asyncio
import struct
from pathlib import Path

import pytest
from hpack import Encoder
from tests.support.raw_backend import BODY, Play, RawProxy, run_raw

pytest.importorskip("h2", reason="the optional package h2 is not installed")

DATA, HEADERS, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = 0, 1, 3, 4, 5, 6, 7, 8, 9
END_STREAM, END_HEADERS = 1, 4


def frame(kind: int, flags: int, stream: int, data: bytes = b"") -> bytes:
    return struct.pack(">I", len(data))[1:] + struct.pack(">BBI", kind, flags, stream) + data


def head(*fields: tuple[bytes, bytes], status: bytes = b"200", flags: int = END_HEADERS) -> bytes:
    """Return the frame with the head of an answer to the first request."""
    block = Encoder().encode([(b":status", status), *fields])
    return frame(HEADERS, flags, 1, block)


HELLO = frame(SETTINGS, 0, 0)
WHOLE = head((b"content-type", b"text/plain")) + frame(DATA, END_STREAM, 1, BODY)


def playing(data: bytes, *, repeat: int = 1) -> Play:
    """Return a back end that greets, waits for the request, sends *data*, and closes after a while."""

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HELLO)
        seen = b""
        while b"\x01\x05\x00\x00\x00\x01" not in seen:  # HEADERS with END_STREAM
            piece = await reader.read(65536)
            if not piece:
                return
            seen += piece
        for _ in range(repeat):
            writer.write(data)
            await writer.drain()
        await asyncio.sleep(0.01)

    return play


def ask(root: Path, data: bytes, *, repeat: int = 1) -> bytes:
    async def use(proxy: RawProxy) -> bytes:
        return await proxy.get("/x")

    out: bytes = run_raw(root, "h2c", use, playing(data, repeat=repeat))
    return out


def status(response: bytes) -> int:
    return int(response[9:12])


def test_an_answer_that_is_cut_anywhere(tmp_path: Path) -> None:
    async def use(proxy: RawProxy) -> None:
        for size in range(len(WHOLE)):
            proxy.play = playing(WHOLE[:size])
            response = await proxy.get("/x")
            assert status(response) in (200, 502, 503)
            assert BODY not in response
            assert not response.endswith(b"0\r\n\r\n")
        proxy.play = playing(WHOLE)
        assert BODY in await proxy.get("/x")

    run_raw(tmp_path, "h2c", use)


@pytest.mark.parametrize(
    "field",
    [
        (b"x-a", b"b\r\nx-forged: 1"),
        (b"x-a", b"b\nx-forged: 1"),
        (b"x-a", b"b\x00forged"),
        (b"x-a\r\nx-forged", b"1"),
        (b"x a", b"forged"),
        (b"content-type", b"text/plain\r\nx-forged: 1"),
    ],
)
def test_a_field_forges_no_other(tmp_path: Path, field: tuple[bytes, bytes]) -> None:
    response = ask(tmp_path, head(field) + frame(DATA, END_STREAM, 1, BODY))
    assert status(response) in (500, 502, 503)
    assert b"forged" not in response.lower()


@pytest.mark.parametrize("value", [b"", b"0", b"42", b"1000", b"20x", b"-20", b"99999999999999999999"])
def test_a_status_that_http_does_not_have(tmp_path: Path, value: bytes) -> None:
    response = ask(tmp_path, head(status=value) + frame(DATA, END_STREAM, 1, BODY))
    assert status(response) in (500, 502, 503)


@pytest.mark.parametrize("value", [b"5", b"500", b"5x", b"-1"])
def test_a_length_that_lies(tmp_path: Path, value: bytes) -> None:
    async def use(proxy: RawProxy) -> bytes:
        request = b"GET /x HTTP/1.1\r\nHost: a\r\n"
        return await proxy.send(request + b"\r\n" + request + b"Connection: close\r\n\r\n")

    data = head((b"content-length", value)) + frame(DATA, END_STREAM, 1, BODY)
    response = run_raw(tmp_path, "h2c", use, playing(data))
    parts = response.split(b"HTTP/1.1 ")[1:]
    for part in parts:
        assert part[:3] in (b"200", b"500", b"502", b"503")
        if part[:3] == b"200":
            body = part.partition(b"\r\n\r\n")[2]
            assert len(body) <= 5 or (value == b"500" and len(parts) == 1)


@pytest.mark.parametrize(
    "data",
    [
        frame(DATA, END_STREAM, 1, BODY),
        frame(DATA, 0, 7, BODY),
        frame(PUSH, END_HEADERS, 1, b"\0\0\0\2" + Encoder().encode([(b":method", b"GET")])),
        head(flags=0) + frame(DATA, 0, 1, BODY),
        head(flags=0) + frame(CONTINUATION, 0, 1) * 200,
        frame(WINDOW, 0, 1, b"\x7f\xff\xff\xff") * 2,
        frame(WINDOW, 0, 0, b"\0\0\0\0"),
        frame(SETTINGS, 0, 0, b"\0"),
        frame(PING, 0, 1, bytes(8)),
        frame(HEADERS, END_HEADERS, 1, b"\xff" * 20),
        head() + head(),
        b"HTTP/1.1 200 OK\r\n\r\nhello",
        struct.pack(">I", 1 << 20)[1:] + bytes(6),
        frame(HEADERS, END_HEADERS, 1, Encoder().encode([(b"x", b"y" * 70000)], huffman=False)),
        frame(RST, 0, 1, struct.pack(">I", 2)),
        frame(GOAWAY, 0, 0, struct.pack(">II", 0, 2)),
        frame(GOAWAY, 0, 0, b""),
    ],
)
def test_frames_that_break_the_protocol(tmp_path: Path, data: bytes) -> None:
    assert status(ask(tmp_path, data)) in (200, 502, 503)


def test_unknown_frames_are_ignored(tmp_path: Path) -> None:
    response = ask(tmp_path, frame(0xEE, 0xFF, 1, b"odd") + frame(0xEF, 0, 0) + WHOLE)
    assert (status(response), BODY in response) == (200, True)


def test_interim_answers_are_read_up_to_a_bound(tmp_path: Path) -> None:
    """The bound is that of HTTP/1 back ends (AP_MAX_INTERIM_RESPONSES); clients of HTTP/1 get none."""
    hint = head((b"link", b"</a>"), status=b"103")
    response = ask(tmp_path, hint * 9 + WHOLE)
    assert (response.count(b"HTTP/1.1 103"), response.count(b"HTTP/1.1 200")) == (0, 1)
    response = ask(tmp_path, hint * 100, repeat=50)
    assert response.startswith(b"HTTP/1.1 502")


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ((b"proxy-connection", b"x"), 502),
        ((b"te", b"gzip"), 502),
        ((b"X-Upper", b"x"), 502),
        ((b"te", b"trailers"), 200),
    ],
)
def test_a_malformed_field_ends_its_stream(tmp_path: Path, field: tuple[bytes, bytes], expected: int) -> None:
    response = ask(tmp_path, head(field) + frame(DATA, END_STREAM, 1, BODY))
    assert status(response) == expected


def test_fields_that_are_not_passed_on(tmp_path: Path) -> None:
    fields = (
        (b"alt-svc", b"a"),
        (b"http2-settings", b"b"),
        (b"trailer", b"c"),
        (b"proxy-authenticate", b"d"),
    )
    lines = ask(tmp_path, head(*fields) + frame(DATA, END_STREAM, 1, BODY)).split(b"\r\n")
    assert b"Trailer: c" in lines
    assert b"Proxy-Authenticate: d" in lines
    assert not any(line.startswith((b"Alt-Svc", b"Http2-Settings")) for line in lines)


def test_a_body_waits_for_100_continue_of_the_back_end(tmp_path: Path) -> None:
    received = b""

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal received
        writer.write(HELLO)
        while b"\x01\x04\x00\x00\x00\x01" not in received:  # HEADERS without END_STREAM
            received += await reader.readexactly(1)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                while b"abc" not in received:
                    received += await reader.readexactly(1)
        writer.write(head((b"x-a", b"1"), status=b"100"))
        while b"abc" not in received:
            received += await reader.readexactly(1)
        writer.write(WHOLE)
        await asyncio.sleep(0.05)

    async def use(proxy: RawProxy) -> bytes:
        reader, writer = await proxy.connect()
        writer.write(b"POST /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n")
        writer.write(b"Expect: 100-continue\r\nContent-Length: 3\r\n\r\nabc")
        first = await reader.readuntil(b"\r\n\r\n")
        rest = await reader.read()
        writer.close()
        return first + rest

    out: bytes = run_raw(tmp_path, "h2c", use, play)
    assert out.startswith(b"HTTP/1.1 100 Continue\r\nX-A: 1\r\n\r\nHTTP/1.1 200 ")
    assert BODY in out
