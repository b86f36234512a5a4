"""Error paths of peers for `memory-errors`: directories (LDAP) that fail, and clients of HTTP/2 that do."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from tests.hostile.fake_directory import ANSWERS, FakeDirectory
from tests.hostile.http2_frames import (
    ACK,
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PADDED,
    PING,
    PREFACE,
    RST_STREAM,
    SENTINEL,
    SETTINGS,
    block,
    frame,
    literal,
    outcome_of,
    request,
    settings,
    window,
)
from tests.hostile.server import WHIMBREL, HostileSite, ServerProcess, read_until_closed

CLIENTS: Final = 8  # at a time, of a directory that never answers: it has a second for each
FRAME: Final = 16_384  # bytes of the largest frame that a server accepts at first
WINDOW: Final = 60_000  # bytes of a body, below the first window
VALUE: Final = "v" * 8_000  # of a field, below LimitRequestFieldSize
LIMIT: Final = 900_000
CONF = f"""
LoadModule ldap_module m/mod_ldap.so
LoadModule authnz_ldap_module m/mod_authnz_ldap.so
LoadModule request_module m/mod_request.so
LoadModule reflector_module m/mod_reflector.so
LogLevel crit
Protocols h2c http/1.1
LDAPTimeout 1
LDAPConnectionTimeout 1
LDAPRetries 0
LDAPCacheEntries 0
LDAPOpCacheEntries 0
<Location /limited>
    LimitRequestBody {LIMIT}
    SetHandler reflector
</Location>
"""
LDAP_CONF = """
<Location /ldap/{name}>
    AuthType Basic
    AuthName zone
    AuthBasicProvider ldap
    AuthLDAPURL ldap://127.0.0.1:{port}/dc=example,dc=org?cn
    AuthLDAPBindDN cn=a
    AuthLDAPBindPassword b
    Require valid-user
</Location>
"""


@dataclass(frozen=True)
class DirectoryFailure:
    """A request whose user is asked of a directory that fails.

    Attributes:
        name: of the figure. `answer`: key of `ANSWERS`.
    """

    name: str
    answer: str

    def send(self, server: ServerProcess) -> bytes:
        """Send one request; return its status."""
        user = base64.b64encode(b"u" * 5_000 + b":" + b"p" * 900).decode()
        head = f"GET /ldap/{self.answer}/a.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        data = f"{head}Authorization: Basic {user}\r\n\r\n".encode()
        return server.exchange(data, timeout=30)[9:12]

    def send_all(self, server: ServerProcess, count: int) -> set[bytes]:
        """Send *count* requests; return the statuses."""
        clients = CLIENTS if self.answer == "never" else 1
        with ThreadPoolExecutor(clients) as pool:
            return set(pool.map(lambda _number: self.send(server), range(count)))


@dataclass(frozen=True)
class StreamFailure:
    """Frames of a client that breaks the protocol, its body, or the limits.

    Attributes:
        name: of the figure. `frames`: after the preface.
    """

    name: str
    frames: bytes

    def send(self, server: ServerProcess) -> bytes:
        """Send the frames on a new connection; return what became of the streams."""
        with server.connect(30) as wire:
            try:
                wire.sendall(PREFACE + settings() + frame(SETTINGS, ACK) + self.frames)
                wire.sendall(frame(PING, 0, 0, SENTINEL))
            except OSError:
                pass  # the server has refused the rest
            answer = frame(PING, ACK, 0, SENTINEL)
            out, is_closed = read_until_closed(wire, time.monotonic() + 30, answer, 0.002)
        return outcome_of(out, is_closed).verdict.replace(" ", "-").encode()

    def send_all(self, server: ServerProcess, count: int) -> set[bytes]:
        """Send the frames on *count* connections; return the outcomes."""
        return {self.send(server) for _ in range(count)}


PeerFailure = DirectoryFailure | StreamFailure


def _head(fields: bytes, *, end: bool = False) -> bytes:
    """Return the frames of a head of any size."""
    pieces = [fields[at : at + FRAME] for at in range(0, len(fields), FRAME)]
    flags = END_STREAM * end
    if len(pieces) == 1:
        return frame(HEADERS, flags | END_HEADERS, 1, fields)
    more = b"".join(frame(CONTINUATION, 0, 1, piece) for piece in pieces[1:-1])
    return frame(HEADERS, flags, 1, pieces[0]) + more + frame(CONTINUATION, END_HEADERS, 1, pieces[-1])


def _body(size: int) -> bytes:
    """Return DATA frames that do not end the stream."""
    return b"".join(frame(DATA, 0, 1, b"d" * min(FRAME, size - at)) for at in range(0, size, FRAME))


def stream_failures() -> tuple[StreamFailure, ...]:
    """Return the failures of clients."""
    large = tuple((f"x-{number}", VALUE) for number in range(7))
    post = request(1, path="/limited/x", method="POST", end=False)
    known = ("content-length", str(LIMIT + 1))
    refused = request(1, known, path="/limited/x", method="POST", end=False)
    short = request(1, ("content-length", "5"), path="/limited/x", method="POST", end=False)
    pseudo = literal(*large[:4], (":status", "200"))
    return (
        StreamFailure("h2 upper-case name", _head(block(*large, ("X-Upper", "x")), end=True)),
        StreamFailure("h2 control in value", _head(block(*large, ("x-c", "a\0\nb")), end=True)),
        StreamFailure("h2 late pseudo field", _head(block(*large) + literal((":path", "/x")), end=True)),
        StreamFailure("h2 no pseudo field", _head(block(*large, pseudo=False), end=True)),
        StreamFailure("h2 connection field", _head(block(*large, ("connection", "close")), end=True)),
        StreamFailure("h2 many fields", _head(block(*[("x-a", "y" * 500)] * 120), end=True)),
        StreamFailure("h2 head too large", _head(block(*[("x-a", VALUE)] * 100), end=True)),
        StreamFailure("h2 bad HPACK", frame(HEADERS, END_HEADERS, 1, b"\xff" * FRAME)),
        StreamFailure("h2 cut head", frame(HEADERS, 0, 1, block(*large)[:FRAME]) + frame(DATA, 0, 1, b"d")),
        StreamFailure("h2 reset in body", post + _body(WINDOW) + frame(RST_STREAM, 0, 1, b"\0\0\0\x08")),
        StreamFailure("h2 body cut", post + _body(WINDOW)),
        StreamFailure("h2 413", refused + _body(WINDOW)),
        StreamFailure("h2 body beyond length", short + _body(WINDOW)),
        StreamFailure("h2 body beyond window", post + _body(200_000)),
        StreamFailure("h2 pseudo in trailers", post + _body(WINDOW) + _head(pseudo, end=True)),
        StreamFailure("h2 large trailers", post + _body(WINDOW) + _head(literal(*large * 10), end=True)),
        StreamFailure("h2 trailers without end", post + _body(WINDOW) + _head(literal(*large))),
        StreamFailure("h2 bad padding", post + frame(DATA, PADDED, 1, b"\xff" + b"d" * 100)),
        StreamFailure("h2 frame too large", post + b"\xff\xff\xff\0\0\0\0\0\1" + b"d" * LIMIT),
        StreamFailure(
            "h2 reset of a response",
            window(0, LIMIT) + request(1, path="/large.txt") + frame(RST_STREAM, 0, 1, b"\0\0\0\x08"),
        ),
    )


def peer_failures() -> tuple[PeerFailure, ...]:
    """Return every failure."""
    return tuple(DirectoryFailure(f"LDAP {name}", name) for name in ANSWERS) + stream_failures()


@contextmanager
def peer_server() -> Iterator[ServerProcess]:
    """Return a server with the directories that fail."""
    documents = {"a.txt": b"plain a\n", "large.txt": b"l" * 2_000_000}
    documents |= {f"ldap/{name}/a.txt": b"secret\n" for name in ANSWERS}
    with FakeDirectory() as directory:
        places = "".join(LDAP_CONF.format(name=name, port=port) for name, port in directory.ports.items())
        with ServerProcess(WHIMBREL, HostileSite(CONF + places, documents)) as server:
            yield server
