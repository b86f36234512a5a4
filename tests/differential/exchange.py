"""Requests as bytes, responses reduced to what is compared."""

from __future__ import annotations

import base64
import hashlib
import http.client
import io
import re
import socket
from dataclasses import dataclass, field, replace
from typing import Any, cast

IGNORED = {"date", "server"}
DIGEST = {"www-authenticate", "authentication-info"}


@dataclass(frozen=True)
class Request:
    """One request on a new connection, of which it is the last if *then* is empty.

    Attributes:
        user: NAME:PASSWORD of Basic or, if *digest* is set, of the response to a Digest challenge.
        source: the client's address.
        body: a character for each byte; its framing fields are in *headers*.
        then: requests that are sent at once behind this one on the same connection.
    """

    path: str
    method: str = "GET"
    headers: dict[str, str] = field(default_factory=dict)
    user: str = ""
    source: str = "127.0.0.1"
    version: str = "HTTP/1.1"
    digest: bool = False
    body: str = ""
    then: tuple[Request, ...] = ()

    def octets(self) -> bytes:
        """The bytes on the wire."""
        fields = {"Host": "localhost", "Connection": "keep-alive" if self.then else "close", **self.headers}
        if self.user:
            fields["Authorization"] = "Basic " + base64.b64encode(self.user.encode()).decode()
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        text = f"{self.method} {self.path} {self.version}\r\n{head}\r\n{self.body}"
        return b"".join((text.encode("latin-1"), *(request.octets() for request in self.then)))


@dataclass(frozen=True)
class Answer:
    """The compared parts of a response: status line, fields ordered by name, body."""

    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]
    body: str


class ReceivedBytes(io.BytesIO):
    """Received bytes in the shape of a socket, for http.client to read."""

    def makefile(self, *_: Any) -> ReceivedBytes:
        return self

    def close(self) -> None:
        """Remain open: http.client closes its file after each response."""


def fetch(port: int, request: Request) -> bytes:
    """Everything that the server sends until it closes."""
    with socket.create_connection(
        ("127.0.0.1", port), timeout=30, source_address=(request.source, 0)
    ) as connection:
        connection.sendall(request.octets())
        parts = []
        while data := connection.recv(65536):
            parts.append(data)
    return b"".join(parts)


def comparable(name: str, value: str) -> tuple[str, str]:
    """A header as it counts: Allow in one order (httpd's is that of a hash), what a server makes up for
    Digest left out.
    """
    if name.lower() in DIGEST:
        value = re.sub(r'\b(nonce|nextnonce|rspauth)="[^"]*"', r'\1=""', value)
    return name.lower(), ",".join(
        sorted(value.replace(" ", "").split(","))
    ) if name.lower() == "allow" else value


def answered(port: int, request: Request) -> Request:
    """Return *request* with the response to the server's Digest challenge (RFC 7616) as its credentials, if
    there is a challenge.
    """
    bare = replace(request, user="", digest=False)
    field = re.search(rb"(?im)^WWW-Authenticate: Digest (.*)$", fetch(port, bare))
    if field is None:
        return bare
    challenge = dict(re.findall(r'(\w+)="?([^",]*)"?', field[1].decode("latin-1").strip()))
    user, _, password = request.user.partition(":")

    def md5(text: str) -> str:
        return hashlib.md5(text.encode("latin-1")).hexdigest()

    first, second = md5(f"{user}:{challenge['realm']}:{password}"), md5(f"{request.method}:{request.path}")
    proof = md5(f"{first}:{challenge['nonce']}:00000001:0a4f113b:auth:{second}")
    value = (
        f'Digest username="{user}", realm="{challenge["realm"]}", nonce="{challenge["nonce"]}", '
        f'uri="{request.path}", algorithm=MD5, '
        f'qop=auth, nc=00000001, cnonce="0a4f113b", response="{proof}"'
    )
    return replace(bare, headers={**request.headers, "Authorization": value})


def exchange(port: int, request: Request) -> Answer:
    """Return the response to one request, with port and random boundary masked."""
    return exchange_all(port, request)[0]


def exchange_all(port: int, request: Request) -> list[Answer]:
    """Return the responses to a request and those behind it, until the server closes."""
    if request.digest:
        request = answered(port, request)
    received = ReceivedBytes(fetch(port, request).replace(str(port).encode(), b"%PORT"))
    answers = [_read(received, request)]
    size = len(received.getvalue())
    answers += [_read(received, behind) for behind in request.then if received.tell() < size]
    return answers


def _read(received: ReceivedBytes, request: Request) -> Answer:
    response = http.client.HTTPResponse(cast(socket.socket, received), method=request.method)
    response.begin()
    headers = sorted(comparable(n, v) for n, v in response.getheaders() if n.lower() not in IGNORED)
    try:
        body = response.read().decode("latin-1")
    except http.client.IncompleteRead as short:
        body = "(cut short) " + short.partial.decode("latin-1")
    answer = unsigned(
        Answer(response.status, response.reason, tuple(headers), body),
        response.getheader("Server") or "",
        request.method,
    )
    boundary = re.search(r"multipart/byteranges; boundary=(\w+)", response.getheader("Content-Type") or "")
    return unbounded(answer, boundary[1]) if boundary else answer


def unsigned(answer: Answer, product: str, method: str) -> Answer:
    """A page without the server's name that ServerSignature writes, and without the length that depends on
    it.
    """
    signed = bool(product) and product in answer.body
    if not signed and not (method == "HEAD" and answer.status >= 300):
        return answer
    headers = tuple(h for h in answer.headers if h[0] != "content-length")
    return replace(
        answer, headers=headers, body=answer.body.replace(product, "%PRODUCT%") if signed else answer.body
    )


def unbounded(answer: Answer, boundary: str) -> Answer:
    """Return a multipart response without its boundary, a random number of 13 to 16 digits, and without the
    length that depends on it.
    """
    headers = ((n, v.replace(boundary, "%BOUNDARY%")) for n, v in answer.headers if n != "content-length")
    return replace(answer, headers=tuple(headers), body=answer.body.replace(boundary, "%BOUNDARY%"))
