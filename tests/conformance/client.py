"""Client of recorded requests: raw bytes, chunks, persistent connections, TLS, Digest, source addresses."""

from __future__ import annotations

import base64
import hashlib
import re
import socket
import ssl
import time
from dataclasses import dataclass, field, replace
from typing import Protocol

from tests.conformance.case import Payload, Record, Request
from tests.conformance.site import RecordedSite

Fields = list[tuple[str, str]]
CNONCE = "c0ffee"  # the recorded client's
_LOCK_TOKEN = re.compile(r"(?<=opaquelocktoken:)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_CHUNK_SIZE = 65536
_BACKEND_DELAY = 0.03  # a backend may serve one connection at a time
_PEEK_TIMEOUT = 0.15


@dataclass
class Reply:
    """What a client received.

    Attributes:
        status: 0 if there was no status line.
        closed: True if the server closed the connection, None if unknown.
        error: the exception or the protocol error that ended the exchange.
        raw: all bytes, for a request that reads until the server closes.
    """

    status: int = 0
    reason: str = ""
    headers: Fields = field(default_factory=list)
    body: bytes = b""
    closed: bool | None = None
    error: str | None = None
    raw: bytes = b""

    def header(self, name: str) -> str | None:
        """The first value of a field."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    @property
    def announces_close(self) -> bool:
        """True if the response has ``Connection: close``."""
        return (self.header("Connection") or "").lower() == "close"


class Transport(Protocol):
    """The methods of a socket that the client uses."""

    def sendall(self, data: bytes, /) -> object: ...
    def recv(self, size: int, flags: int = 0, /) -> bytes: ...
    def settimeout(self, seconds: float, /) -> None: ...
    def close(self) -> None: ...


class Client:
    """The client of one site: sends requests and keeps the persistent connections."""

    def __init__(self, site: RecordedSite) -> None:
        self.site = site
        self._connections: dict[int | str, Transport] = {}

    def connect(self, request: Request) -> Transport:
        """Open the connection of a request."""
        plain = socket.socket()
        plain.settimeout(request.timeout)
        if request.source:
            plain.bind((request.source, 0))
        plain.connect((request.addr, int(self.site.expand(request.port))))
        return start_tls(plain, request, self.site) if request.tls or request.cert else plain

    def wait(self, seconds: float) -> None:
        """Wait as the recorded client did."""
        time.sleep(seconds)

    def close(self) -> None:
        """Close the persistent connections."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def send(self, request: Request) -> Reply:
        """Send a request and receive its response; errors of the connection are part of the reply."""
        if request.digest:
            return self._answer_challenge(request, request.digest)
        self.wait(request.pause + (_BACKEND_DELAY if self.site.case.backends else 0))
        connection = None if request.conn is None else self._connections.pop(request.conn, None)
        reply = Reply()
        try:
            connection = connection or self.connect(request)
            self._exchange(connection, request, reply)
        except OSError as error:
            reply.error = f"{type(error).__name__}: {error}"
        if request.conn is not None and connection is not None and not reply.closed and not reply.error:
            self._connections[request.conn] = connection
        elif connection is not None:
            connection.close()
        return reply

    def _exchange(self, connection: Transport, request: Request, reply: Reply) -> None:
        data, method = request_bytes(request, self.site)
        connection.sendall(data)
        if request.until_close:
            while data := connection.recv(_CHUNK_SIZE):
                reply.raw += data
            return
        for chunk in request.chunks:
            self.wait(request.gap)
            connection.sendall(payload_bytes(chunk, self.site))
        ResponseReader(connection, method, reply).read()
        self._note_lock_tokens(reply)
        if request.conn is not None and not reply.closed:
            reply.closed = reply.announces_close or is_closed(connection, request.timeout)

    def _answer_challenge(self, request: Request, digest: Record) -> Reply:
        """Send the request without credentials, then with the answer to its challenge."""
        plain = replace(request, digest=None)
        challenge = self.send(plain).header("WWW-Authenticate") or ""
        value = digest_authorization(challenge, digest, request.method, request.path)
        headers = tuple(pair for pair in plain.headers if pair[0] != "Authorization")
        return self.send(replace(plain, headers=(*headers, ("Authorization", value))))

    def _note_lock_tokens(self, reply: Reply) -> None:
        """Number the DAV lock tokens in their order: later requests name them by placeholders."""
        text = " ".join(value for _, value in reply.headers) + reply.body.decode("latin-1")
        for token in _LOCK_TOKEN.findall(text):
            self.site.tokens.setdefault(token, f"@TOKEN{len(self.site.tokens) + 1}@")


def start_tls(plain: socket.socket, request: Request, site: RecordedSite) -> ssl.SSLSocket:
    """A TLS connection that accepts any certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if request.tls_max == "1.2":
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    if request.cert:
        context.load_cert_chain(site.path(request.cert))
    return context.wrap_socket(plain, server_hostname=request.tls if isinstance(request.tls, str) else None)


def is_closed(connection: Transport, timeout: float) -> bool:
    """Return True if the server has closed the connection; always False for TLS."""
    if isinstance(connection, ssl.SSLSocket):
        return False
    connection.settimeout(_PEEK_TIMEOUT)
    try:
        return connection.recv(1, socket.MSG_PEEK) == b""
    except TimeoutError:
        return False
    finally:
        connection.settimeout(timeout)


def payload_bytes(payload: Payload, site: RecordedSite) -> bytes:
    """The bytes of recorded data that is sent unchanged."""
    return payload if isinstance(payload, bytes) else site.expand(payload).encode("latin-1", "replace")


def request_bytes(request: Request, site: RecordedSite) -> tuple[bytes, str]:
    """The bytes of a request and its method."""
    if request.raw is not None:
        data = payload_bytes(request.raw, site)
        method = re.match(rb"\s*([A-Z]+) ", data)
        return data, method[1].decode() if method else "GET"
    body = site.expand(request.body).encode() if isinstance(request.body, str) else request.body
    protocol = f" {request.version}" if request.version else ""
    head = site.expand(f"{request.method} {request.path}{protocol}\r\n")
    head += "".join(f"{name}: {site.expand(value)}\r\n" for name, value in _fields(request, body))
    return head.encode("latin-1", "replace") + (b"\r\n" if request.version else b"") + (
        body or b""
    ), request.method


def _fields(request: Request, body: bytes | None) -> Fields:
    """The header fields: recorded ones, and those that every client sends unless they are recorded."""
    names = {name.lower() for name, _ in request.headers}
    is_1_1 = request.version == "HTTP/1.1"
    fields: Fields = []
    if request.host is not None:
        fields.append(("Host", request.host))
    elif is_1_1 and "host" not in names:
        fields.append(("Host", "localhost"))
    if request.auth:
        fields.append(
            ("Authorization", f"Basic {base64.b64encode(':'.join(request.auth).encode()).decode()}")
        )
    fields += [(name, value) for name, value in request.headers if value is not None]
    if body is not None and not names & {"content-length", "transfer-encoding"}:
        fields.append(("Content-Length", str(len(body))))
    if is_1_1 and request.conn is None and "connection" not in names:
        fields.append(("Connection", "close"))
    return fields


def digest_authorization(challenge: str, digest: Record, method: str, path: str) -> str:
    """The Authorization value that answers a challenge (RFC 7616, MD5) as the recorded client did."""
    offered = dict(re.findall(r'(\w+)="?([^",]*)"?', challenge))
    realm, nonce = (digest.get(key, offered.get(key, "")) for key in ("realm", "nonce"))
    count, qop, uri = digest.get("nc", "00000001"), digest.get("qop", "auth"), digest.get("uri", path)
    secret = _md5(f"{digest['user']}:{realm}:{digest['password']}")
    target = _md5(f"{digest.get('method', method)}:{uri}")
    response = _md5(
        f"{secret}:{nonce}:{count}:{CNONCE}:{qop}:{target}" if qop else f"{secret}:{nonce}:{target}"
    )
    quoted = {"username": digest["user"], "realm": realm, "nonce": nonce, "uri": uri, "response": response}
    parts = [f'{key}="{value}"' for key, value in quoted.items()]
    if "algorithm" in offered and digest.get("algorithm", True):
        parts.append(f"algorithm={offered['algorithm']}")
    if qop:
        parts += [f"qop={qop}", f"nc={count}", f'cnonce="{CNONCE}"']
    return "Digest " + ", ".join(parts)


def _md5(text: str) -> str:
    return hashlib.md5(text.encode()).hexdigest()


class ResponseReader:
    """Reads one response from a connection into a reply; interim responses are skipped."""

    def __init__(self, connection: Transport, method: str, reply: Reply) -> None:
        self._connection, self._method, self._reply = connection, method, reply
        self._buffer, self._ended = bytearray(), False

    def read(self) -> None:
        """Read the response; one without a complete head is an error, one of HTTP/0.9 is all body."""
        reply = self._reply
        while self._read_head():
            if reply.status // 100 != 1 or reply.status == 101:
                reply.body = self._body()
                reply.closed = True if self._ended or reply.announces_close else None
                return

    def _more(self) -> bool:
        data = self._connection.recv(_CHUNK_SIZE)
        self._ended = not data
        self._buffer += data
        return bool(data)

    def _fill(self, size: int) -> None:
        while len(self._buffer) < size and self._more():
            pass

    def _take(self, size: int) -> bytes:
        """Remove up to *size* bytes; fewer if the server closes before."""
        self._fill(size)
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    def _take_rest(self) -> bytes:
        while self._more():
            pass
        return bytes(self._buffer)

    def _read_head(self) -> bool:
        """Read a status line and header fields; False at an end of the exchange without them."""
        reply = self._reply
        while b"\r\n\r\n" not in self._buffer:
            if not self._more():
                reply.closed = True
                reply.error = f"closed without a complete response head ({len(self._buffer)} bytes)"
                return False
            if not self._buffer.startswith(b"HTTP/"[: len(self._buffer)]):
                reply.body, reply.closed = self._take_rest(), True
                return False
        lines = self._take(self._buffer.index(b"\r\n\r\n") + 4).decode("latin-1")[:-4].split("\r\n")
        first = re.match(r"HTTP/\S+ (\d+) ?(.*)", lines[0])
        reply.status, reply.reason = (int(first[1]), first[2]) if first else (0, lines[0])
        reply.headers = [
            (name.strip(), value.strip()) if colon else (line, "")
            for line in lines[1:]
            for name, colon, value in [line.partition(":")]
        ]
        return True

    def _body(self) -> bytes:
        length = self._reply.header("Content-Length")
        if self._method == "HEAD" or self._reply.status in (204, 304):
            return b""
        if "chunked" in (self._reply.header("Transfer-Encoding") or "").lower():
            return self._chunked_body()
        return self._take_rest() if length is None else self._take(int(length))

    def _chunked_body(self) -> bytes:
        body = bytearray()
        while True:
            while b"\r\n" not in self._buffer and self._more():
                pass
            line = bytes(self._buffer).split(b"\r\n", 1)[0]
            try:
                size = int(line.split(b";")[0], 16)
            except ValueError:
                self._reply.error = "bad chunk"
                break
            self._take(len(line) + 2)
            body += self._take(size + 2)[:size]
            if size == 0 or self._ended:
                break
        return bytes(body)
