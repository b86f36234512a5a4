"""Clients of the load: HTTP/1.1, also over TLS with tickets, WebDAV, tunnels, clients that leave."""

from __future__ import annotations

import random
import re
import ssl
import time
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, field

from tests.hostile.tls_site import client_context
from tests.soak.ledger import Ledger
from tests.soak.requests import Asked, chosen, encoded, logged_size, numbered
from tests.soak.site import Ports
from tests.soak.wire import Lost, Wire

TRIES = 3  # of a request that the server gives back
TOKEN = re.compile(rb"opaquelocktoken:[0-9a-f-]+")
LOCK_BODY = (
    b'<?xml version="1.0"?><D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope>'
    b"<D:locktype><D:write/></D:locktype></D:lockinfo>"
)
UPGRADE = (
    "GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


@dataclass
class Client(ABC):
    """A client with a connection at a time; `step` sends one request or a group of them.

    Attributes:
        ports: of the servers, of which each connection takes one.
        rate: requests a second.
        counts: what else it has done, such as resumed sessions.
    """

    ports: list[Ports]
    ledger: Ledger
    dice: random.Random
    rate: float
    counts: Counter[str] = field(default_factory=Counter)

    def server(self) -> Ports:
        """Return a server for the next connection."""
        return self.dice.choice(self.ports)

    @abstractmethod
    def step(self) -> int:
        """Send; return the number of requests."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""


class PlainClient(Client):
    """Sends requests of all kinds on connections that stay open for a while, sometimes several at once."""

    longest = 100  # requests of a connection
    wire: Wire | None = None
    left = 0

    def connect(self) -> Wire:
        """Open a connection."""
        return Wire(self.server().plain)

    def opened(self) -> Wire:
        """Return the connection, a new one if it is closed or old."""
        if self.left <= 0:
            self.close()
        self.left -= 1
        if self.wire is None or not self.wire.is_open:
            self.wire = self.connect()
            self.left = self.dice.randrange(1, self.longest)
        return self.wire

    def step(self) -> int:
        group = [chosen(self.dice) for _ in range(4 if self.dice.random() < 0.05 else 1)]
        if len(group) > 1:
            self._pipeline(group)
        else:
            self.send(group[0])
        return len(group)

    def send(self, asked: Asked) -> tuple[int, bytes]:
        """Send one request; return status and body, (0, b"") if it is lost."""
        for _ in range(TRIES):
            number = self.ledger.begin()
            try:
                wire = self.opened()
                wire.send(encoded(asked, number))
                reply = wire.reply(is_head=asked.method == "HEAD")
            except Lost as problem:
                self.close()
                if problem.is_unprocessed:
                    self.ledger.give_back(number)
                    continue
                self.ledger.lose(number, asked.kind, str(problem))
                return 0, b""
            problem_text = asked.problem(reply.status, reply.body)
            self.ledger.answered(number, asked.kind, reply.status, logged_size(asked, reply), problem_text)
            return reply.status, reply.body
        self.counts["given back again and again"] += 1
        return 0, b""

    def _pipeline(self, group: list[Asked]) -> None:
        """Send all at once; requests after a response that closes are given back."""
        numbers = [self.ledger.begin() for _ in group]
        done = 0
        try:
            wire = self.opened()
            wire.send(b"".join(map(encoded, group, numbers)))
            for asked, number in zip(group, numbers, strict=True):
                if not wire.is_open:
                    break
                reply = wire.reply(is_head=asked.method == "HEAD")
                problem_text = asked.problem(reply.status, reply.body)
                self.ledger.answered(
                    number, asked.kind, reply.status, logged_size(asked, reply), problem_text
                )
                done += 1
        except Lost as problem:
            self.close()
            if not problem.is_unprocessed:
                self.ledger.lose(numbers[done], group[done].kind, f"{problem} in a pipeline")
                done += 1
        for number in numbers[done:]:
            self.ledger.give_back(number)

    def close(self) -> None:
        if self.wire is not None:
            self.wire.close()
            self.wire = None


class TlsClient(PlainClient):
    """The same over TLS 1.2 and 1.3; sessions are resumed with tickets."""

    session: ssl.SSLSession | None = None
    context: ssl.SSLContext | None = None

    def connect(self) -> Wire:
        self._note_session(self.wire)
        if self.context is None or self.dice.random() < 0.1:
            version = self.dice.choice((ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3))
            self.context = client_context(version)
            self.context.set_alpn_protocols(["http/1.1"])
            self.session = None
        wire = Wire(self.server().tls, self.context, self.session)
        assert isinstance(wire.socket, ssl.SSLSocket)
        self.counts["handshakes"] += 1
        self.counts["sessions resumed"] += bool(wire.socket.session_reused)
        return wire

    def close(self) -> None:
        wire = self.wire
        super().close()
        self._note_session(wire)

    def _note_session(self, wire: Wire | None) -> None:
        if wire is not None and wire.session is not None:
            self.session = wire.session


class DavClient(PlainClient):
    """Writes files under locks: the content read back is the one written, and a lock keeps others out."""

    longest = 5

    def step(self) -> int:
        name = f"/dav/{self.dice.getrandbits(48):x}"
        content = b"%d\n" % self.dice.getrandbits(48) * self.dice.randrange(1, 2000)
        self.send(Asked("PUT", 0, name, (201,), "PUT", body=content))
        _, body = self.send(Asked("LOCK", 0, name, (200,), "LOCK", (("timeout", "Second-60"),), LOCK_BODY))
        token = TOKEN.search(body)
        steps = 5
        if token is not None:
            held = (("if", f"(<{token[0].decode()}>)"),)
            self.send(Asked("PUT without the lock", 0, name, (423,), "PUT", body=b"other"))
            self.send(Asked("second LOCK", 0, name, (423,), "LOCK", (), LOCK_BODY))
            self.send(Asked("PUT with the lock", 0, name, (204,), "PUT", held, content[::-1]))
            self.send(Asked("GET of a file", 0, name, check=content[::-1].__eq__))
            lock_token = (("lock-token", f"<{token[0].decode()}>"),)
            self.send(Asked("UNLOCK", 0, name, (204,), "UNLOCK", lock_token))
            steps += 4
        target = (("destination", f"http://localhost{name}-moved"),)
        self.send(Asked("MOVE", 0, name, (201,), "MOVE", target))
        self.send(Asked("PROPFIND of a file", 0, f"{name}-moved", (207,), "PROPFIND", (("depth", "0"),)))
        self.send(Asked("DELETE", 0, f"{name}-moved", (204,), "DELETE"))
        return steps


class CountingClient(PlainClient):
    """Counts up in one file, under a lock that all such clients want; none of their steps may be lost."""

    longest = 4

    def step(self) -> int:
        name = "/dav/counter"
        fields = (("timeout", "Second-60"),)
        status, body = self.send(Asked("LOCK of all", 0, name, (200, 423), "LOCK", fields, LOCK_BODY))
        token = TOKEN.search(body)
        if status != 200 or token is None:
            return 1
        _, value = self.send(Asked("GET of the counter", 0, name))
        held = (("if", f"(<{token[0].decode()}>)"),)
        more = b"%d\n" % (int(value or b"0") + 1)
        status, _ = self.send(Asked("PUT of the counter", 0, name, (204,), "PUT", held, more))
        self.counts["counted"] += status == 204
        lock_token = (("lock-token", f"<{token[0].decode()}>"),)
        self.send(Asked("UNLOCK of all", 0, name, (204,), "UNLOCK", lock_token))
        return 4


class TunnelClient(PlainClient):
    """Upgrades to WebSocket and sends bytes to and fro until it closes."""

    messages = 20
    pause = 0.05  # seconds between two messages

    def step(self) -> int:
        number = self.ledger.begin()
        try:
            self._tunnel(number)
        except Lost as problem:
            self.ledger.lose(number, "WebSocket", str(problem))
        return 1

    def _tunnel(self, number: int) -> None:
        wire = Wire(self.server().plain)
        try:
            wire.send(UPGRADE.format(target=numbered("/ws/echo", number)).encode())
            status = wire.head().status
            problem = "" if status == 101 else f"status {status}"
            for _ in range(self.messages if status == 101 else 0):
                data = self.dice.randbytes(self.dice.randrange(1, 5000))
                wire.send(data)
                if wire.exactly(len(data)) != data:
                    problem = "the echo differs"
                time.sleep(self.pause)
        finally:
            wire.close()
        self.ledger.answered(number, "WebSocket", status, -1, problem)


class LeavingClient(PlainClient):
    """Closes in the middle of responses, and sends requests with mistakes."""

    BAD = (
        ("bad version", "GET {target} HTTP/1.1x\r\nHost: localhost\r\n\r\n", 400),
        ("no host", "GET {target} HTTP/1.1\r\n\r\n", 400),
        ("two lengths", "POST {target} HTTP/1.1\r\nHost: a\r\nContent-Length: 1, 2\r\n\r\n", 400),
        ("unknown coding", "POST {target} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: x\r\n\r\n", 400),
        ("long field", "GET {target} HTTP/1.1\r\nHost: a\r\nX: {long}\r\n\r\n", 400),
        ("expectation", "GET {target} HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n", 417),
    )

    def step(self) -> int:
        number = self.ledger.begin()
        wire: Wire | None = None
        try:
            wire = Wire(self.server().plain)
            if self.dice.random() < 0.5:
                self._leave(wire, number)
            else:
                self._err(wire, number)
        except Lost as problem:
            self.ledger.lose(number, "leaving client", str(problem))
        finally:
            if wire is not None:
                wire.close()
        return 1

    def _leave(self, wire: Wire, number: int) -> None:
        path = self.dice.choice(("/big.bin", "/proxy/1", "/cached/2", "/page.shtml", "/echo.cgi"))
        wire.send(encoded(Asked("left", 0, path), number))
        wire.receive()
        self.ledger.give_up(number)

    def _err(self, wire: Wire, number: int) -> None:
        kind, text, status = self.dice.choice(self.BAD)
        wire.send(text.format(target=numbered("/a.txt", number), long="y" * 9000).encode())
        reply = wire.reply()
        problem = "" if reply.status == status else f"status {reply.status}"
        self.ledger.answered(number, kind, reply.status, -1, problem)
