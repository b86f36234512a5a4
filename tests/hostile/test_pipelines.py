"""Random pipelines of mixed responses on several connections: each connection receives what the same requests
receive one by one.
"""

from __future__ import annotations

import random
import re
import selectors
import socket
import time
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from tests.hostile.server import WHIMBREL, HostileSite, ServerProcess

SECONDS = 3.0
CONNECTIONS = 6
MAX_REQUESTS = 14
CONF = """
MaxKeepAliveRequests 11
KeepAliveTimeout 5
Redirect /moved /a.txt
<VirtualHost *>
ServerName localhost
</VirtualHost>
<VirtualHost *>
ServerName short.test
MaxKeepAliveRequests 3
</VirtualHost>
<VirtualHost *>
ServerName endless.test
MaxKeepAliveRequests 0
</VirtualHost>
"""
DOCUMENTS = {
    "index.html": b"front\n",
    "a.txt": b"plain a\n",
    "b.txt": b"b" * 7000,
    "large.txt": b"0123456789abcdef" * 1500,
    "file.bin": bytes(range(256)) * 1200,
    "page.shtml": b'<!--#echo var="QUERY_STRING" -->\n',
    "length.cgi": b"#!/bin/sh\necho Content-Type: text/plain\necho\nwc -c\n",
}
CACHED = ("/a.txt", "/", "/b.txt", "/none", "/moved/x", "/a.txt?q")
OTHERS = ("/large.txt", "/file.bin", "/page.shtml?{}", "/none-{}", "/a.txt?{}", "/length.cgi")
HOSTS = ("localhost",) * 6 + ("short.test", "endless.test")
VARYING = re.compile(rb"\r\n(?:Date|Content-Length|Transfer-Encoding): [^\r]*")
BODIES = ("Content-Length: 5\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
ENDS = (
    "GET /a.txt HTTP/1.1\r\nBad Name: x\r\n\r\n",
    "GET /a.txt HTTP/1.1\r\n\r\n",
    "GET /a.txt HTTP/1.0\r\n\r\n",
)


class Reply(NamedTuple):
    """A response: its head without Date and framing, which depends on how fast a program ends; its body."""

    head: bytes
    body: bytes


def requests(choice: random.Random) -> list[bytes]:
    """Return up to `MAX_REQUESTS` requests, most of them with cached responses."""
    found = []
    for _ in range(choice.randint(1, MAX_REQUESTS)):
        paths = CACHED if choice.random() < 0.75 else OTHERS
        path, kind = choice.choice(paths).format(choice.randrange(1000)), choice.random()
        head = f"{path} HTTP/1.1\r\nHost: {choice.choice(HOSTS)}\r\nCookie: {choice.randrange(3)}\r\n"
        if kind < 0.05:
            expect = choice.choice(("", "Expect: 100-continue\r\n"))
            text = f"POST /length.cgi HTTP/1.1\r\nHost: localhost\r\n{expect}{choice.choice(BODIES)}"
        elif kind < 0.07:
            text = choice.choice(ENDS)
        elif kind < 0.09:
            text = f"GET {head}Connection: close\r\n\r\n"
        elif kind < 0.12 and not path.endswith(".cgi"):  # ranges of their output depend on its framing
            text = f"GET {head}Range: bytes=2-4\r\n\r\n"
        else:
            text = f"{choice.choice(('GET',) * 9 + ('HEAD',))} {head}\r\n"
        found.append(text.encode())
    return found


def pieces(data: bytes, choice: random.Random) -> deque[bytes]:
    """Cut *data* at up to three places."""
    cuts = sorted(choice.randrange(len(data)) for _ in range(choice.randrange(4)))
    parts = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    return deque(part for part in parts if part)


class Replies:
    """Parser of the responses to *asked*; `feed` returns those that are complete."""

    def __init__(self, asked: list[bytes]) -> None:
        self.buffer, self.methods = b"", [request.split(b" ")[0] for request in asked]
        self.found: list[Reply] = []

    def feed(self, data: bytes) -> None:
        """Read on."""
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n") + 4) >= 4:
            head = self.buffer[:end]
            size = self._size(head, end)
            if size < 0 or len(self.buffer) < size:
                return
            body = self.buffer[end:size]
            if b"\r\nTransfer-Encoding: chunked" in head and body:
                body = b"".join(self._chunks(body))
            self.buffer = self.buffer[size:]
            self.found.append(Reply(VARYING.sub(b"", head), body))

    def _size(self, head: bytes, end: int) -> int:
        """Return the bytes of head and body, -1 if they are not known yet."""
        if head.startswith(b"HTTP/1.1 100"):
            return end
        number = sum(not reply.head.startswith(b"HTTP/1.1 100") for reply in self.found)
        if self.methods[number] == b"HEAD":
            return end
        if b"\r\nTransfer-Encoding: chunked" in head:
            last = self.buffer.find(b"\r\n0\r\n\r\n", end - 2)
            return last + 7 if last >= 0 else -1
        length = re.search(rb"\r\nContent-Length: (\d+)", head)
        return end + int(length[1]) if length else end

    @staticmethod
    def _chunks(body: bytes) -> Iterator[bytes]:
        while body:
            size, _, rest = body.partition(b"\r\n")
            yield rest[: int(size, 16)]
            body = rest[int(size, 16) + 2 :]


def one_by_one(server: ServerProcess, asked: list[bytes]) -> list[Reply]:
    """Return the responses to requests each of which waits for the response before it."""
    replies = Replies(asked)
    with server.connect(10.0) as wire:
        for number, request in enumerate(asked, 1):
            wire.sendall(request)
            while sum(not reply.head.startswith(b"HTTP/1.1 100") for reply in replies.found) < number:
                data = wire.recv(65536)
                if not data:
                    return replies.found
                replies.feed(data)
            if b"\r\nConnection: close" in replies.found[-1].head:
                break
        wire.shutdown(socket.SHUT_WR)
        while data := wire.recv(65536):
            replies.feed(data)
    assert not replies.buffer
    return replies.found


def pipelined(
    server: ServerProcess, plans: list[list[bytes]], choice: random.Random
) -> list[tuple[list[Reply], bytes]]:
    """Send all plans at the same time, each on its connection; return the responses and the bytes behind
    them.
    """
    wires = [server.connect(10.0) for _ in plans]
    queues = [pieces(b"".join(plan), choice) for plan in plans]
    replies = [Replies(plan) for plan in plans]
    selector = selectors.DefaultSelector()
    for number, wire in enumerate(wires):
        selector.register(wire, selectors.EVENT_READ, number)
    limit = time.monotonic() + 10.0
    while selector.get_map() and time.monotonic() < limit:
        for wire, queue in zip(wires, queues, strict=True):
            if queue and choice.random() < 0.8:
                try:
                    wire.sendall(queue.popleft())
                    if not queue:
                        wire.shutdown(socket.SHUT_WR)
                except OSError:  # the server has closed
                    queue.clear()
        for key, _events in selector.select(0.001):
            try:
                data = wires[key.data].recv(65536)
            except ConnectionResetError:
                data = b""
            if data:
                replies[key.data].feed(data)
            else:
                selector.unregister(wires[key.data])
    for wire in wires:
        wire.close()
    return [(reply.found, reply.buffer) for reply in replies]


def test_pipelines_are_answered_as_single_requests_are() -> None:
    choice, count = random.Random(7), 0
    with ServerProcess(WHIMBREL, HostileSite(CONF, DOCUMENTS)) as server:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end or not count:
            plans = [requests(choice) for _ in range(CONNECTIONS)]
            expected = [one_by_one(server, plan) for plan in plans]
            found = pipelined(server, plans, choice)
            for plan, single, (replies, rest) in zip(plans, expected, found, strict=True):
                assert (replies, rest) == (single, b""), plan
            count += sum(map(len, expected))
    assert count > 100
