"""Requests that are relayed to applications: replies and logs are those of the general path, for random heads
and applications.

The second server answers each request by the general path (WHIMBREL_GENERAL_PATH).
"""

from __future__ import annotations

import os
import random
import re
import socket
import time
from pathlib import Path

import pytest
from tests.server.conftest import ServerProcess

from whimbrel.engine.engine import GENERAL_PATH

PYTHON = Path("/usr/bin/python3")
pytestmark = pytest.mark.skipif(
    not PYTHON.exists(), reason="no /usr/bin/python3 that the server's user may run"
)
APPLICATION = """
import os, time
CALLS = {}
def application(environ, start_response):
    name = environ["PATH_INFO"][1:]
    # of embedded mode there may be several processes
    CALLS[name] = int(environ.get("HTTP_X_CALL") or CALLS.get(name, 0) + 1)
    shown = [(k, v) for k, v in sorted(environ.items()) if k.startswith(("HTTP_", "X_"))]
    names = ("QUERY_STRING", "REQUEST_URI", "PATH_INFO", "SCRIPT_NAME", "REMOTE_ADDR", "REQUEST_METHOD")
    shown += [(k, environ.get(k)) for k in names]
    body = ("%s %s" % (name, [pair for pair in shown if pair[0] != "HTTP_X_PORT"])).encode()
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
    elif name == "etag":
        fields += [("ETag", '"%d"' % (CALLS[name] % 2)), ("Vary", "Cookie, X-A")]
    elif name in STREAMS:
        del fields[1]
        start_response(status, fields)
        return stream(name, body, environ)
    elif name == "generator":
        start_response(status, fields)
        return (body[n:n + 3] for n in range(0, len(body), 3))
    elif name == "port":
        body = str(environ["REMOTE_PORT"] == environ["HTTP_X_PORT"]).encode()
        fields[1] = ("Content-Length", str(len(body)))
    start_response(status, fields)
    return [body]
STREAMS = ("stream", "paused", "failing", "logging", "nothing", "big", "killed")
def stream(name, body, environ):
    if name == "nothing":
        return
    yield body
    for number in range(CALLS[name] % 4):
        if name in ("paused", "killed"):
            time.sleep(0.01)
        if name == "logging":
            environ["wsgi.errors"].write("piece %d\\n" % number)
        yield b"z" * (100000 if name == "big" else 300)
    if name == "failing" and CALLS[name] % 3 == 0:
        raise ValueError("failing")
    if name == "killed" and CALLS[name] % 5 == 4:
        os.kill(os.getpid(), 9)
"""
NAMES = (
    "plain counted cookie chunked error print status reason short long empty large dated sometimes generator "
    "port etag stream paused failing logging nothing big"
).split()
CONF = """
LoadModule wsgi_module m/mod_wsgi.so
LogLevel warn
WSGIPythonHome /usr
{more}
WSGIDaemonProcess site threads=3
WSGIScriptAlias /app {root}/htdocs/app.wsgi process-group=site application-group=%{{GLOBAL}}
WSGIScriptAlias /embedded {root}/htdocs/app.wsgi application-group=%{{GLOBAL}}
"""
# The settings of a run; the values of fields are variables, which the later ones read.
SETTINGS = (
    "",
    'CustomLog logs/more "%h %{User-Agent}i %{Cookie}i %{X-A}i %B %{ETag}o"\n',
    'CustomLog logs/more "%{HTTP_COOKIE}e %>s" env=HTTP_X_A\n',
    'LoadModule headers_module m/mod_headers.so\nHeader set X-Seen "%{HTTP_COOKIE}e"\n',
    "LoadModule headers_module m/mod_headers.so\nHeader set X-Seen yes \"expr=%{req:X-A} == 'b'\"\n",
    "LoadModule setenvif_module m/mod_setenvif.so\nSetEnvIf Cookie a=(.) X_COOKIE=$1\n"
    "SetEnvIf User-Agent b X_AGENT\nSetEnvIf X-A b HTTP_X_C=set\n",
    "LoadModule env_module m/mod_env.so\nSetEnv http_x_a other\nSetEnv X_PERCENT %b%s%%\n",
    "WSGIPassAuthorization On\n",
    'LoadModule remoteip_module m/mod_remoteip.so\nRemoteIPHeader X-A\nLogFormat "%a %h" client\n'
    "CustomLog logs/more client\n",
    "WSGITrustedProxyHeaders X-Forwarded-For\n",
)
NAMES_OF_FIELDS = (
    "Cookie cookie X-A X-B X_A User-Agent Referer Accept Authorization X-Forwarded-For If-None-Match Proxy "
    "Content-Type Range X-C X-C"
).split()
VALUES = (
    *("b", "a=b", "a=c; d", "%b %s %%", "", "\xe9\xff", "x" * 300, '"1"', "192.0.2.7", "a\tb", "  b  "),
    'q"uo\\te',
)
QUERIES = (*[""] * 12, "?", "?a=b", "?%25b", "?REMOTE_PORT")


def random_fields(dice: random.Random, names: list[str]) -> str:
    """Return field lines with these *names* and random values."""
    return "".join([f"{name}: {dice.choice(VALUES)}\r\n" for name in names])


CHANGING = re.compile(rb"\r\nDate: [^\r]+")
LINE = re.compile(r"(?:\[client [^]]+\] |\[remote [^]]+\] )?(.*)$")
SEEDS = int(os.environ.get("WHIMBREL_RELAY_SEEDS", len(SETTINGS)))
SETTLING = 1.1  # seconds: nothing is learned of a file that may change again unseen
SHORT = 3  # bytes that a short body lacks
LOOPBACK = ("127.0.0.1", "127.0.0.2")
# Relayed answers are counted in the error log, which is the standard error of the worker.
COUNTED = """
import sys
from whimbrel.server.http1.relay import Relayer
def counting(name):
    method = getattr(Relayer, name)
    def counted(self, *arguments):
        print("relayed by", name, file=sys.stderr, flush=True)
        method(self, *arguments)
    setattr(Relayer, name, counted)
counting("finish_relay")
counting("stream_relay")
"""
Request = tuple[int, str, str, int]


def requests(dice: random.Random) -> list[Request]:
    """Return mount, target, fields and client of each request; most come several times with other values."""
    out: list[Request] = []
    targets = dice.sample(NAMES, 8)
    for _ in range(24):
        mount = dice.randrange(2)
        target = dice.choice(targets) + dice.choice(QUERIES)
        names = dice.choices(NAMES_OF_FIELDS, k=dice.choice((0, 1, 2, 4)))
        fields = random_fields(dice, names)
        is_counted = mount == 1 or dice.random() < 0.5
        for _ in range(dice.choice((1, 8, 12))):
            if dice.random() < 0.6:
                fields = random_fields(dice, names)
            call = f"X-Call: {len(out)}\r\n" if is_counted else ""
            out.append((mount, target, fields + call, int(dice.random() < 0.2)))
    return out


class Client:
    """A client that keeps its connection as long as the server does."""

    def __init__(self, server: ServerProcess, address: str) -> None:
        self.server = server
        self.address = address
        self._wire: socket.socket | None = None

    def ask(self, request: Request) -> bytes:
        """Return the reply without what differs between runs."""
        mount, target, fields, _client = request
        if self._wire is None:
            peer = ("127.0.0.1", self.server.port)
            self._wire = socket.create_connection(peer, timeout=30, source_address=(self.address, 0))
        port = self._wire.getsockname()[1]
        path = f"/{('app', 'embedded')[mount]}/{target}"
        text = f"GET {path} HTTP/1.1\r\nHost: a.example\r\nX-Port: {port}\r\n{fields}\r\n"
        self._wire.sendall(text.encode("latin-1"))
        reply = b""
        while not self._is_complete(reply):
            data = self._wire.recv(65536)
            if not data:
                break
            reply += data
        if not data_follows(reply) or target.startswith("short"):
            self.close()
        return CHANGING.sub(b"", unchunked(reply))

    @staticmethod
    def _is_complete(reply: bytes) -> bool:
        head, gap, body = reply.partition(b"\r\n\r\n")
        if not gap:
            return False
        found = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
        if found is not None:
            return len(body) >= int(found[1]) - (SHORT if b"X-Short" in head else 0)
        if b"chunked" in head:
            return body.endswith(b"0\r\n\r\n")
        return head.startswith((b"HTTP/1.1 304 ", b"HTTP/1.1 204 "))

    def close(self) -> None:
        """Close the connection."""
        if self._wire is not None:
            self._wire.close()
            self._wire = None


def unchunked(reply: bytes) -> bytes:
    """Return *reply* with all bytes of its chunks in one, as time decides about their sizes; "cut" stands for
    a missing end.
    """
    head, gap, body = reply.partition(b"\r\n\r\n")
    if b"chunked" not in head:
        return reply
    out = b""
    while body:
        line, _gap, body = body.partition(b"\r\n")
        size = int(line, 16)
        if not size:
            return head + gap + out + b" complete"
        out += body[:size]
        body = body[size + 2 :]
    return head + gap + out + b" cut"


def data_follows(reply: bytes) -> bool:
    """Return True if the connection of *reply* stays open."""
    head = reply.partition(b"\r\n\r\n")[0]
    return Client._is_complete(reply) and b"\r\nConnection: close" not in head


def prepare(server: ServerProcess, more: str) -> None:
    """Write the application, and the configuration with the lines *more*."""
    (server.root / "htdocs/app.wsgi").write_text(APPLICATION)
    (server.root / "conf/extra.conf").write_text(CONF.format(root=server.root, more=more))
    server.changes = COUNTED


def seen(server: ServerProcess, sent: list[Request]) -> tuple[list[bytes], list[str], list[str], list[str]]:
    """Return the replies to *sent*, and the lines of the logs."""
    server.start()
    clients = [Client(server, address) for address in LOOPBACK]
    replies = [clients[request[3]].ask(request) for request in sent]
    for client in clients:
        client.close()
    server.stop()
    access = (server.root / "logs/access_log").read_text().splitlines()
    other = server.root / "logs/more"
    others = other.read_text("latin-1").splitlines() if other.exists() else []
    errors = []
    for line in server.errors().splitlines():
        match = re.search(r"\[wsgi:error\] \[pid \d+[^]]*\] (.*)", line)
        if match is not None:
            text = re.sub(r"pid=\d+|:\d+\]|0x[0-9a-f]+", "", match[1])
            errors.append(text.replace(str(server.root), ""))
    return replies, access, errors, others


@pytest.mark.parametrize("seed", range(SEEDS))
def test_replies_and_logs_are_those_of_the_general_path(
    server: ServerProcess, second_server: ServerProcess, seed: int
) -> None:
    sent = requests(random.Random(seed))
    for each in (server, second_server):
        prepare(each, SETTINGS[seed % len(SETTINGS)])
    time.sleep(SETTLING)
    second_server.environment[GENERAL_PATH] = "1"
    fast = seen(server, sent)
    general = seen(second_server, sent)
    for request, one, other in zip(sent, fast[0], general[0], strict=True):
        assert one == other, request
    # the line about a short body is written when the server sees that its client has gone
    for number in (1, 2, 3):
        assert sorted(fast[number]) == sorted(general[number])
    assert len(fast[1]) == len(sent)
    relayed = server.errors()
    assert "relayed by" not in second_server.errors()
    if seed == 0:
        assert relayed.count("finish_relay") > 20
        assert relayed.count("stream_relay") > 5
