"""Back ends of FastCGI, SCGI, uwsgi and AJP that lie, fail, flood or stop; statuses: apache2 2.4.71."""

from __future__ import annotations

import asyncio
import socket
import struct
import tracemalloc
from pathlib import Path

import pytest
from tests.support.raw_backend import (
    BODY,
    FIELDS,
    SCHEMES,
    RawProxy,
    ajp,
    ajp_head,
    ajp_piece,
    ajp_text,
    answer,
    record,
    run_raw,
    sending,
)
from tests.support.site import load_module_lines

from whimbrel.backends.connection import MAX_AHEAD
from whimbrel.backends.fastcgi import FastcgiReader
from whimbrel.http.client.answer import AnswerReader
from whimbrel.modules.support.fastcgi_request import FastcgiRequest

HEAD = FIELDS + b"\r\n"
AJP_HEAD, AJP_END = ajp_head(200, (b"Content-Type", b"text/plain")), ajp(b"\5\1")
PIECE = b"x" * 8000
CHUNKED = b"Transfer-Encoding: chunked"


def ask(root: Path, scheme: str, data: bytes, **more: str) -> bytes:
    """Return the response to a request that the back end answers with *data*."""

    async def use(proxy: RawProxy) -> bytes:
        return await proxy.get("/x")

    out: bytes = run_raw(root, scheme, use, sending(data), **more)
    return out


def reset(writer: asyncio.StreamWriter) -> None:
    """Close a connection with RST."""
    linger = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()


async def is_closed(proxy: RawProxy, seconds: float = 1) -> bool:
    """Return True if the connections to the back end are closed within *seconds*."""
    end = asyncio.get_running_loop().time() + seconds
    while proxy.open and asyncio.get_running_loop().time() < end:
        await asyncio.sleep(0.005)
    return not proxy.open


def status(response: bytes) -> int:
    return int(response[9:12])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_answer_that_is_cut_anywhere(tmp_path: Path, scheme: str) -> None:
    """Only where the connection ends an answer (SCGI, uwsgi) a cut body is a complete response."""
    data = answer(scheme)
    failed = {"fcgi": {503}, "ajp": {503}, "scgi": {500}, "uwsgi": {500, 502}}[scheme]

    async def use(proxy: RawProxy) -> None:
        for size in range(len(data)):
            proxy.play = sending(data[:size])
            response = await proxy.get("/x")
            if status(response) != 200:
                assert status(response) in failed
                assert scheme == "ajp" or size < len(data) - len(BODY)
            elif scheme in ("fcgi", "ajp") and size < len(data) - 24:
                assert not response.endswith(b"0\r\n\r\n")
        proxy.play = sending(data)
        assert BODY in await proxy.get("/x")

    run_raw(tmp_path, scheme, use)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_answer_that_comes_byte_by_byte(tmp_path: Path, scheme: str) -> None:
    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65536)
        for byte in answer(scheme):
            writer.write(bytes([byte]))
            await asyncio.sleep(0)

    async def use(proxy: RawProxy) -> None:
        head, _, body = (await proxy.get("/x")).partition(b"\r\n\r\n")
        assert b"X-Bird: knot" in head
        pieces = body.split(b"\r\n")[1::2]
        assert b"".join(pieces) == BODY

    run_raw(tmp_path, scheme, use, play)


@pytest.mark.parametrize(
    ("value", "sent"), [(b"5", BODY[:5]), (b"64", BODY), (b"500", b""), (b"5x", b""), (b"-1", b"")]
)
def test_a_length_that_lies_does_not_shift_the_next_response(
    tmp_path: Path, value: bytes, sent: bytes
) -> None:
    """apache2 sends the body of a uwsgi answer as it is; here a longer one is cut, a shorter one ends the
    connection.
    """
    data = answer("uwsgi", BODY, (b"Content-Length", value))

    async def use(proxy: RawProxy) -> None:
        request = b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n" * 2
        response = await proxy.send(request + b"GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        head, _, body = response.partition(b"\r\n\r\n")
        if sent:
            assert [part.partition(b"\r\n\r\n")[2] for part in response.split(b"HTTP/1.1 200")[1:]] == [
                sent
            ] * 3
        elif value == b"500":
            assert (response.count(b"HTTP/1.1 "), body) == (1, BODY)
        else:
            assert b"Transfer-Encoding: chunked" in head
            assert b"Content-Length" not in head

    run_raw(tmp_path, "uwsgi", use, sending(data))


def test_the_messages_of_ajp_delimit_the_body(tmp_path: Path) -> None:
    for value in (b"5", b"500", b"64"):
        data = ajp_head(200, (b"Content-Length", value)) + ajp_piece(BODY) + AJP_END
        head, _, body = ask(tmp_path, "ajp", data).partition(b"\r\n\r\n")
        assert b"Content-Length" not in head
        assert body == b"40\r\n" + BODY + b"\r\n0\r\n\r\n"


@pytest.mark.parametrize("number", [0, 1, 42, 99, 1000, 65535])
def test_a_status_of_ajp_that_http_does_not_have(tmp_path: Path, number: int) -> None:
    response = ask(tmp_path, "ajp", ajp_head(number) + ajp_piece(BODY) + AJP_END)
    assert response.startswith(b"HTTP/1.1 500 Internal Server Error\r\n")
    assert BODY in response


def test_a_reason_phrase_forges_no_field(tmp_path: Path) -> None:
    data = ajp(b"\4\0\xc8" + ajp_text(b"Very\r\nX-Forged: 1") + b"\0\0") + ajp_piece(BODY) + AJP_END
    response = ask(tmp_path, "ajp", data)
    assert response.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Forged" not in response
    assert ask(tmp_path, "uwsgi", b"HTTP/1.1 200 a\x01b\r\n\r\nx").startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize("scheme", ["fcgi", "scgi"])
def test_a_media_type_with_control_characters_is_refused(tmp_path: Path, scheme: str) -> None:
    output = b"Content-Type: text/\x12plain\r\n\r\n" + BODY
    data = output if scheme == "scgi" else record(6, output) + record(3, bytes(8))
    assert status(ask(tmp_path, scheme, data)) == 500


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (record(6, HEAD + BODY, request=2), 503),
        (record(6, HEAD + BODY, request=0), 503),
        (record(6, HEAD + BODY, version=2), 503),
        (record(11, b"zz") + record(6, HEAD + BODY) + record(3, bytes(8)), 200),
        (record(6, HEAD + BODY, padding=255) + record(3, bytes(8), padding=7), 200),
        (record(6, HEAD + BODY) + record(3, bytes(65535)), 200),
        (record(6, HEAD + BODY) + record(3, bytes(8)) + record(6, b"forged"), 200),
        (record(3, bytes(8)), 200),
        (b"", 503),
    ],
)
def test_odd_records(tmp_path: Path, data: bytes, expected: int) -> None:
    response = ask(tmp_path, "fcgi", data)
    assert status(response) == expected
    assert b"forged" not in response


@pytest.mark.parametrize("records", [record(6, b"forged", request=2), record(3, bytes(8), request=2)])
def test_a_record_of_another_request_ends_the_response(tmp_path: Path, records: bytes) -> None:
    response = ask(tmp_path, "fcgi", record(6, HEAD + BODY) + records)
    assert status(response) == 200
    assert b"forged" not in response
    assert not response.endswith(b"0\r\n\r\n")


@pytest.mark.parametrize(
    "data",
    [
        AJP_HEAD + AJP_HEAD,
        AJP_HEAD + ajp(b"\x63"),
        AJP_HEAD + ajp(b""),
        AJP_HEAD + ajp(b"\3\0\1" + BODY + b"\0"),
        AJP_HEAD + ajp(b"\3\xff\xff" + BODY + b"\0"),
        AJP_HEAD + ajp_piece(b"x" * 8190),
        AJP_HEAD,
        AJP_HEAD + ajp_piece(BODY)[:-1],
        b"XX" + AJP_HEAD[2:],
        ajp(b"\4\0\xc8" + ajp_text(b"") + b"\0\1\xa0\x63" + ajp_text(b"b")),
    ],
)
def test_a_failure_before_the_first_byte_of_the_body(tmp_path: Path, data: bytes) -> None:
    assert status(ask(tmp_path, "ajp", data)) == 503


@pytest.mark.parametrize("flood", [record(99, b""), record(7, b"e"), record(6, b"ab")])
def test_records_that_wait_for_a_client_are_bounded(flood: bytes) -> None:
    """The reading of a connection stops at MAX_AHEAD bytes, whatever the back end writes."""
    reader = FastcgiReader()
    reader.feed(record(6, HEAD))
    tracemalloc.start()
    size = 0
    while reader.buffered <= MAX_AHEAD:
        reader.feed(flood * 500)
        size += len(flood) * 500
        assert size < 1_000_000
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert held < 4 * MAX_AHEAD


def test_standard_error_before_the_head_is_logged_as_it_comes(tmp_path: Path) -> None:
    """mod_fastcgi: a program that complains for ever does not fill the memory."""
    complaints = record(7, b"e" * 60000) * 20
    seen: list[int] = []

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65536)
        for _ in range(10):
            writer.write(complaints)
            await writer.drain()
        writer.write(answer("fcgi"))

    async def use(proxy: RawProxy) -> None:
        log_errors = FastcgiRequest.log_errors

        def counted(exchange: FastcgiRequest, reader: AnswerReader) -> None:
            seen.append(sum(map(len, reader.errors)))
            log_errors(exchange, reader)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(FastcgiRequest, "log_errors", counted)
            assert BODY in await proxy.get("/app/x")
        assert sum(seen) == 60000 * 200
        assert max(seen) < 600_000  # MAX_AHEAD and one read

    conf = load_module_lines(["fastcgi", "alias"]) + (
        "FastCgiExternalServer %(root)s/app -host 127.0.0.1:@PORT@\nAlias /app %(root)s/app\n"
        "<Location /app>\nSetHandler fastcgi-script\n</Location>\n"
        "<Location />\nRequire all granted\n</Location>\nProxyPass /app !\n"
    ) % {"root": tmp_path}
    run_raw(tmp_path, "fcgi", use, play, conf=conf)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_back_end_that_reads_nothing_ends_with_the_time_limit(tmp_path: Path, scheme: str) -> None:
    """The body of the request is read before (proxy-sendcl), or arrives meanwhile."""

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.pause_reading()
        await asyncio.sleep(5)

    async def use(proxy: RawProxy) -> None:
        size = 20_000_000
        for fields in ([f"Content-Length: {size}"], ["Transfer-Encoding: chunked"]):
            body = b"x" * size
            if len(fields[0]) > 25:
                body = b"%x\r\n%b\r\n0\r\n\r\n" % (size, body)
            response = await proxy.get("/x", *fields, method="POST", body=body)
            assert status(response) in ({411} if scheme in ("scgi", "uwsgi") else set()) | {
                500,
                502,
                503,
                504,
            }

    run_raw(tmp_path, scheme, use, play, conf="SetEnv proxy-sendcl 1\n")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_client_that_leaves_closes_the_connection(tmp_path: Path, scheme: str) -> None:
    """In each phase: before the answer, within its head, within its body."""
    whole = answer(scheme)

    async def use(proxy: RawProxy) -> None:
        for size in (0, 10, len(whole) - 30):

            async def play(
                reader: asyncio.StreamReader, writer: asyncio.StreamWriter, size: int = size
            ) -> None:
                await reader.read(65536)
                writer.write(whole[:size])
                await reader.read()

            proxy.play = play
            _reader, writer = await proxy.connect()
            writer.write(b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n")
            async with asyncio.timeout(5):
                while not proxy.open:
                    await asyncio.sleep(0.005)
            reset(writer)
            assert await is_closed(proxy)

    run_raw(tmp_path, scheme, use)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_answer_before_the_body_is_in(tmp_path: Path, scheme: str) -> None:
    """A 413 ends the request while a client still sends its body."""
    refusal = {
        "fcgi": record(6, b"Status: 413 No\r\n\r\n") + record(6, b"") + record(3, bytes(8)),
        "scgi": b"Status: 413 No\r\n\r\n",
        "uwsgi": b"HTTP/1.1 413 No\r\n\r\n",
        "ajp": ajp_head(413) + ajp(b"\5\0"),
    }[scheme]

    async def use(proxy: RawProxy) -> None:
        reader, writer = await proxy.connect()
        writer.write(b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n" + b"x" * 30000)
        head = await reader.readuntil(b"\r\n\r\n")
        assert status(head) == 413
        assert await is_closed(proxy)
        writer.close()

    run_raw(tmp_path, scheme, use, sending(refusal))


def test_a_program_of_a_head_request_ends_with_the_time_limit(tmp_path: Path) -> None:
    """Output that is not sent is read, so that the program can finish, for the seconds of ProxyTimeout."""

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65536)
        writer.write(record(6, HEAD))
        while True:
            writer.write(record(6, PIECE))
            await writer.drain()
            await asyncio.sleep(0)

    async def use(proxy: RawProxy) -> None:
        reader, writer = await proxy.connect()
        writer.write(b"HEAD /x HTTP/1.1\r\nHost: a\r\n\r\n")
        assert status(await reader.readuntil(b"\r\n\r\n")) == 200
        assert await is_closed(proxy, 3)
        writer.close()

    run_raw(tmp_path, "fcgi", use, play)


@pytest.mark.parametrize(("flush", "framing"), [(b"", b"Content-Length: 0"), (ajp_piece(b""), CHUNKED)])
def test_a_flush_of_ajp_leaves_the_length_open(tmp_path: Path, flush: bytes, framing: bytes) -> None:
    assert framing in ask(tmp_path, "ajp", AJP_HEAD + flush + AJP_END)
