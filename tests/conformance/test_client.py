"""The client: bytes of requests, responses in all framings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.case import case_of, request_of
from tests.conformance.client import Client, Reply, ResponseReader, digest_authorization, request_bytes
from tests.conformance.site import Modules, RecordedSite


@pytest.fixture
def site() -> Iterator[RecordedSite]:
    with RecordedSite(
        case_of({"id": "a-0001", "conf": "", "modules": [], "answers": {"2.4": {}}}, "2.4"),
        Modules("m", frozenset()),
    ) as built:
        yield built


class Canned:
    """A transport that returns prepared pieces, then its end or, without *ends*, a timeout."""

    def __init__(self, *pieces: bytes, ends: bool = True) -> None:
        self.pieces, self.ends, self.sent, self.is_open = list(pieces), ends, b"", True

    def sendall(self, data: bytes) -> None:
        self.sent += data

    def recv(self, size: int, flags: int = 0) -> bytes:
        if not self.pieces and not self.ends:
            raise TimeoutError("timed out")
        return self.pieces.pop(0) if self.pieces else b""

    def settimeout(self, seconds: float) -> None: ...

    def close(self) -> None:
        self.is_open = False


def read(*pieces: bytes, method: str = "GET", ends: bool = True) -> Reply:
    reply = Reply()
    ResponseReader(Canned(*pieces, ends=ends), method, reply).read()
    return reply


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [
        ({}, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
        ({"conn": 1}, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        ({"version": "HTTP/1.0", "path": "/x"}, "GET /x HTTP/1.0\r\n\r\n"),
        ({"version": ""}, "GET /\r\n"),
        (
            {"host": "a.test", "headers": {"X": "1", "Y": None}},
            "GET / HTTP/1.1\r\nHost: a.test\r\nX: 1\r\nConnection: close\r\n\r\n",
        ),
        (
            {"headers": [["Host", "b"], ["Connection", "x"]]},
            "GET / HTTP/1.1\r\nHost: b\r\nConnection: x\r\n\r\n",
        ),
        (
            {"method": "POST", "body": "abc", "conn": 1},
            "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc",
        ),
        (
            {"auth": ["u", "p"], "conn": 1},
            "GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic dTpw\r\n\r\n",
        ),
        ({"raw": "OPTIONS *\r\n"}, "OPTIONS *\r\n"),
    ],
)
def test_bytes_of_a_request(site: RecordedSite, recorded: dict[str, Any], expected: str) -> None:
    assert request_bytes(request_of(recorded), site)[0] == expected.encode()


def test_answer_to_a_digest_challenge() -> None:
    """The example of RFC 2069 as corrected by its erratum: the response without qop."""
    challenge = 'Digest realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093"'
    digest = {"user": "Mufasa", "password": "CircleOfLife", "qop": ""}
    value = digest_authorization(challenge, digest, "GET", "/dir/index.html")
    assert 'response="1949323746fe6a43ef61f9606e7febea"' in value
    assert "qop" not in value and "algorithm" not in value


@pytest.mark.parametrize(
    ("pieces", "body", "closed"),
    [
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"], b"abc", None),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n", b"\r\na", b"bc"], b"abc", None),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"], b"abc", True),
        ([b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"], b"", True),
        ([b"HTTP/1.1 200 OK\r\n\r\nabc", b"def"], b"abcdef", True),
        (
            [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\nabc\r\n", b"2\r\nde\r\n0\r\n\r\n"],
            b"abcde",
            None,
        ),
        ([b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"], b"x", None),
        ([b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"], b"", None),
        ([b"<html>", b"old"], b"<html>old", True),
    ],
)
def test_framings(pieces: list[bytes], body: bytes, closed: bool | None) -> None:
    reply = read(*pieces)
    assert (reply.body, reply.closed, reply.error) == (body, closed, None)


def test_no_body_after_head() -> None:
    assert read(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", method="HEAD", ends=False).body == b""


def test_errors_of_a_response() -> None:
    assert read(b"HTTP/1.1 200").error == "closed without a complete response head (12 bytes)"
    assert read(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n").error == "bad chunk"
    with pytest.raises(TimeoutError):
        read(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", ends=False)


def test_header_fields_in_order() -> None:
    reply = read(b"HTTP/1.1 200 OK\r\nA:  1 \r\nNoColon\r\nA: 2\r\nContent-Length: 0\r\n\r\n")
    assert reply.headers == [("A", "1"), ("NoColon", ""), ("A", "2"), ("Content-Length", "0")]
    assert (reply.status, reply.reason, reply.header("a")) == (200, "OK", "1")


def test_persistent_connections(site: RecordedSite, monkeypatch: pytest.MonkeyPatch) -> None:
    response = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    opened: list[Canned] = []
    client = Client(site)

    def connect(_: object) -> Canned:
        opened.append(Canned(response, ends=False))
        return opened[-1]

    monkeypatch.setattr(client, "connect", connect)
    assert client.send(request_of({"conn": "k"})).closed is False
    opened[0].pieces.append(response)
    assert client.send(request_of({"conn": "k"})).status == 200
    assert len(opened) == 1 and opened[0].is_open
    client.send(request_of({}))
    assert len(opened) == 2 and not opened[1].is_open
    assert client.send(request_of({"conn": "k"})).error == "TimeoutError: timed out"
    assert not opened[0].is_open
    client.close()


def test_lock_tokens_are_numbered(site: RecordedSite, monkeypatch: pytest.MonkeyPatch) -> None:
    token = "12345678-1234-1234-1234-123456789abc"
    client = Client(site)
    monkeypatch.setattr(
        client,
        "connect",
        lambda _: Canned(f"HTTP/1.1 200 OK\r\nLock-Token: <opaquelocktoken:{token}>\r\n\r\n".encode()),
    )
    client.send(request_of({}))
    assert site.expand("If: <@TOKEN1@>") == f"If: <{token}>"
