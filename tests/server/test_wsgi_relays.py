"""Requests that are relayed to applications: replies and logs are those of the general path.

The second server answers each request by the general path (WHIMBREL_GENERAL_PATH).
"""

from __future__ import annotations

import random
import re
import socket
from pathlib import Path

import pytest
from tests.server.conftest import ServerProcess

from whimbrel.engine.engine import GENERAL_PATH

PYTHON = Path("/usr/bin/python3")
pytestmark = pytest.mark.skipif(
    not PYTHON.exists(), reason="no /usr/bin/python3 that the server's user may run"
)
APPLICATION = """
CALLS = {}
def application(environ, start_response):
    name = environ["PATH_INFO"][1:]
    CALLS[name] = CALLS.get(name, 0) + 1
    body = ("%s %s" % (name, sorted(k for k in environ if k.startswith("HTTP_")))).encode()
    fields = [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))]
    status = "200 OK"
    if name == "counted":
        body = b"%d" % CALLS[name]
        fields[1] = ("Content-Length", str(len(body)))
    elif name == "cookie":
        fields.append(("Set-Cookie", "n=%d" % (CALLS[name] % 3)))
    elif name == "chunked":
        del fields[1]
    elif name == "error":
        environ["wsgi.errors"].write("line %d\\n" % CALLS[name])
    elif name == "print":
        print("printed")
    elif name == "status":
        status = "404 Not Found"
    elif name == "reason":
        status = "200 Fine"
    elif name == "short":
        fields[1] = ("Content-Length", str(len(body) + 3))
        fields.append(("X-Short", "yes"))
    elif name == "long":
        fields[1] = ("Content-Length", "3")
    elif name == "empty":
        body, fields[1] = b"", ("Content-Length", "0")
    elif name == "large":
        body = b"y" * 100000
        fields[1] = ("Content-Length", "100000")
    elif name == "dated":
        fields.append(("Last-Modified", "Sun, 13 Sep 2020 12:26:40 GMT"))
    elif name == "sometimes" and CALLS[name] % 4 == 0:
        raise ValueError("sometimes")
    elif name == "generator":
        start_response(status, fields)
        return (body[n:n + 3] for n in range(0, len(body), 3))
    elif name == "port":
        body = str(environ["REMOTE_PORT"] == environ["HTTP_X_PORT"]).encode()
        fields[1] = ("Content-Length", str(len(body)))
    start_response(status, fields)
    return [body]
"""
NAMES = (
    "plain counted cookie chunked error print status reason short long empty large dated sometimes generator "
    "port"
).split()
CONF = """
LoadModule wsgi_module m/mod_wsgi.so
LogLevel warn
WSGIPythonHome /usr
WSGIDaemonProcess site threads=3
WSGIScriptAlias /app {root}/htdocs/app.wsgi process-group=site application-group=%{{GLOBAL}}
WSGIScriptAlias /embedded {root}/htdocs/app.wsgi application-group=%{{GLOBAL}}
"""
HEADERS = ("", "X-A: b\r\n", "Cookie: a=b\r\nAccept: */*\r\n")
CHANGING = re.compile(rb"\r\nDate: [^\r]+")
LINE = re.compile(r"(?:\[client [^]]+\] |\[remote [^]]+\] )?(.*)$")
SHORT = 3  # bytes that a short body lacks
Request = tuple[int, str, str]


def requests(dice: random.Random) -> list[Request]:
    """Return a mount, a name and fields for each request; most are sent several times."""
    out: list[Request] = []
    for _ in range(40):
        one = (dice.randrange(2), dice.choice(NAMES), dice.choice(HEADERS))
        out += [one] * dice.choice((1, 4, 5))
    return out


class Client:
    """A client that keeps its connection as long as the server does."""

    def __init__(self, server: ServerProcess) -> None:
        self.server = server
        self._wire: socket.socket | None = None

    def ask(self, request: Request) -> bytes:
        """Return the reply without what differs between runs."""
        mount, name, fields = request
        if self._wire is None:
            self._wire = self.server.connect()
        port = self._wire.getsockname()[1]
        path = f"/{('app', 'embedded')[mount]}/{name}"
        text = f"GET {path} HTTP/1.1\r\nHost: a.example\r\nX-Port: {port}\r\n{fields}\r\n"
        self._wire.sendall(text.encode())
        reply = b""
        while not self._is_complete(reply):
            data = self._wire.recv(65536)
            if not data:
                break
            reply += data
        if not data_follows(reply) or name == "short":
            self.close()
        return CHANGING.sub(b"", reply)

    @staticmethod
    def _is_complete(reply: bytes) -> bool:
        head, gap, body = reply.partition(b"\r\n\r\n")
        if not gap:
            return False
        found = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
        if found is not None:
            return len(body) >= int(found[1]) - (SHORT if b"X-Short" in head else 0)
        return body.endswith(b"0\r\n\r\n") if b"chunked" in head else False

    def close(self) -> None:
        """Close the connection."""
        if self._wire is not None:
            self._wire.close()
            self._wire = None


def data_follows(reply: bytes) -> bool:
    """Return True if the connection of *reply* stays open."""
    head = reply.partition(b"\r\n\r\n")[0]
    return Client._is_complete(reply) and b"\r\nConnection: close" not in head


def seen(server: ServerProcess, sent: list[Request]) -> tuple[list[bytes], list[str], list[str]]:
    """Return the replies to *sent*, and the lines of both logs."""
    (server.root / "htdocs/app.wsgi").write_text(APPLICATION)
    (server.root / "conf/extra.conf").write_text(CONF.format(root=server.root))
    server.start()
    client = Client(server)
    replies = [client.ask(request) for request in sent]
    client.close()
    server.stop()
    access = (server.root / "logs/access_log").read_text().splitlines()
    errors = []
    for line in server.errors().splitlines():
        match = re.search(r"\[wsgi:error\] \[pid \d+[^]]*\] (.*)", line)
        if match is not None:
            text = re.sub(r"pid=\d+|:\d+\]|0x[0-9a-f]+", "", match[1])
            errors.append(text.replace(str(server.root), ""))
    return replies, access, errors


@pytest.mark.parametrize("seed", [1, 2])
def test_replies_and_logs_are_those_of_the_general_path(
    server: ServerProcess, second_server: ServerProcess, seed: int
) -> None:
    sent = requests(random.Random(seed))
    second_server.environment[GENERAL_PATH] = "1"
    fast = seen(server, sent)
    general = seen(second_server, sent)
    for request, one, other in zip(sent, fast[0], general[0], strict=True):
        assert one == other, request
    # the line about a short body is written when the server sees that its client has gone
    assert sorted(fast[1]) == sorted(general[1])
    assert sorted(fast[2]) == sorted(general[2])
    assert len(fast[1]) == len(sent)
