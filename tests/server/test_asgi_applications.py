"""ASGI applications: HTTP, streaming both ways, lifespan, WebSocket, and the end of the processes."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import time
from pathlib import Path

import pytest
from tests.server.conftest import ServerProcess, within

PYTHON = Path("/usr/bin/python3")
uvicorn = importlib.util.find_spec("uvicorn")
pytestmark = [
    pytest.mark.skipif(not PYTHON.exists(), reason="no /usr/bin/python3 that the server's user may run"),
    pytest.mark.skipif(uvicorn is None, reason="uvicorn (extra asgi) is not installed"),
]
APPLICATION = """
import asyncio, json, os
STARTED = []
async def application(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                STARTED.append("started")
                await send({"type": "lifespan.startup.complete"})
            else:
                with open(__file__ + ".ended", "w") as file:
                    file.write("ended")
                await send({"type": "lifespan.shutdown.complete"})
                return
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        while True:
            message = await receive()
            if message["type"] == "websocket.disconnect":
                return
            await send({"type": "websocket.send", "text": "echo " + message["text"]})
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    if scope["path"].endswith("/stream"):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for number in range(3):
            await send({"type": "http.response.body", "body": b"part%d" % number, "more_body": True})
            await asyncio.sleep(0.05)
        await send({"type": "http.response.body", "body": b"end"})
        return
    if scope["path"].endswith("/hints"):
        assert "http.response.early_hint" in scope["extensions"]
        try:
            await send({"type": "http.response.early_hint", "links": [b"</a.css>\\r\\nX: y"]})
        except ValueError:
            await send({"type": "http.response.early_hint", "links": [b"</a.css>; rel=preload", b"</b.js>"]})
        await asyncio.sleep(0.05)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        try:
            await send({"type": "http.response.early_hint", "links": []})
        except RuntimeError:
            await send({"type": "http.response.body", "body": b"ok"})
        return
    if scope["path"].endswith("/boom"):
        raise ValueError("boom")
    shown = {name: scope[name] for name in ("path", "root_path", "method", "scheme", "client")}
    shown["query"] = scope["query_string"].decode()
    shown["host"] = dict(scope["headers"])[b"host"].decode()
    shown["fields"] = [name.decode() for name, value in scope["headers"]]
    shown["body"] = len(body)
    shown["pid"] = os.getpid()
    shown["lifespan"] = STARTED
    data = json.dumps(shown).encode()
    await send({"type": "http.response.start", "status": 201, "headers": [(b"content-type", b"text/x")]})
    await send({"type": "http.response.body", "body": data})
"""
CONF = """
LoadModule proxy_module m/mod_proxy.so
LoadModule proxy_http_module m/mod_proxy_http.so
LoadModule proxy_wstunnel_module m/mod_proxy_wstunnel.so
LoadModule wsgi_module m/mod_wsgi.so
LogLevel info
ProxyAddHeaders Off
WSGIPythonHome /usr
WSGIDaemonProcess live application-type=asgi python-path={packages}
ASGIScriptAlias /live {root}/htdocs/live.asgi process-group=live
"""
HANDSHAKE = (
    b"GET /live/ws HTTP/1.1\r\nHost: a.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)


def start(server: ServerProcess, more: str = "") -> None:
    """Start *server* with the application at /live."""
    assert uvicorn is not None and uvicorn.origin is not None
    packages = Path(uvicorn.origin).parents[1]
    if not os.access(packages, os.R_OK):
        pytest.skip("the packages of this interpreter are private")
    (server.root / "htdocs/live.asgi").write_text(APPLICATION)
    (server.root / "htdocs").chmod(0o777)
    (server.root / "conf/extra.conf").write_text(CONF.format(root=server.root, packages=packages) + more)
    server.start()


def shown(reply: bytes) -> dict[str, object]:
    """Return what the application shows of a request."""
    found = re.search(rb"\{.*\}", reply)
    assert found is not None, reply
    out: dict[str, object] = json.loads(found[0])
    return out


def test_early_hints_precede_the_response(server: ServerProcess) -> None:
    start(server)
    interim, reply, body = server.get("/live/hints").split(b"\r\n\r\n")
    assert interim.startswith(b"HTTP/1.1 103 Early Hints\r\n")
    assert b"\r\nlink: </a.css>; rel=preload" in interim
    assert b"</b.js>" in interim
    assert b"X: y" not in interim
    assert reply.startswith(b"HTTP/1.1 200 OK\r\n")
    assert body == b"ok"
    old = server.ask(b"GET /live/hints HTTP/1.0\r\n\r\n")
    assert old.startswith(b"HTTP/1.1 200 OK\r\n")


def test_a_request_reaches_the_application(server: ServerProcess) -> None:
    start(server)
    reply = server.ask(
        b"POST /live/a%20b?c=d HTTP/1.1\r\nHost: a.example:81\r\nX-Forwarded-For: 9.9.9.9\r\n"
        b"X-Whimbrel-Client: 9.9.9.9\r\n"
        b"Connection: close\r\nContent-Length: 100000\r\n\r\n" + b"x" * 100000
    )
    assert reply.startswith(b"HTTP/1.1 201 Created\r\n") and b"content-type: text/x\r\n" in reply
    values = shown(reply)
    assert values["path"] == "/live/a b" and values["root_path"] == "/live"
    assert values["host"] == "a.example:81" and values["query"] == "c=d"
    assert values["client"] == ["127.0.0.1", 0] and values["scheme"] == "http"
    assert isinstance(values["fields"], list) and "x-whimbrel-client" not in values["fields"]
    assert values["body"] == 100000 and values["lifespan"] == ["started"]
    reply = server.ask(
        b"GET /live HTTP/1.1\r\nHost: a.example\r\nX-One: 1\r\nX-Two: 2\r\n"
        b"Connection: X-One;x-whimbrel-CLIENT\r\nConnection: x-forwarded-proto , close\r\n\r\n"
    )
    values = shown(reply)
    assert values["client"] == ["127.0.0.1", 0] and values["scheme"] == "http"
    assert values["fields"] == ["host", "x-two", "x-forwarded-proto", "connection"]
    streamed = server.get("/live/stream")
    assert b"part0" in streamed and b"end" in streamed
    assert server.get("/live/boom").startswith(b"HTTP/1.1 500 ")
    assert within(lambda: "ValueError: boom" in server.errors())


def test_a_web_socket_passes_through(server: ServerProcess) -> None:
    pytest.importorskip("websockets", reason="websockets (extra asgi) is not installed")
    start(server)
    with server.connect() as wire:
        wire.sendall(HANDSHAKE)
        reply = b""
        while b"\r\n\r\n" not in reply:
            reply += wire.recv(4096)
        assert reply.startswith(b"HTTP/1.1 101 Switching Protocols\r\n")
        wire.sendall(b"\x81\x82\0\0\0\0hi")
        frame = reply.partition(b"\r\n\r\n")[2]
        while len(frame) < 9:
            frame += wire.recv(4096)
        assert frame == b"\x81\x07echo hi"


def test_a_web_socket_passes_through_http_2(server: ServerProcess) -> None:
    pytest.importorskip("websockets", reason="websockets (extra asgi) is not installed")
    pytest.importorskip("h2", reason="the optional package h2 is not installed")
    from h2.connection import H2Connection
    from h2.events import DataReceived, ResponseReceived, StreamReset

    start(server, "LoadModule http2_module m/mod_http2.so\nProtocols h2c http/1.1\nH2WebSockets on\n")
    assert within(lambda: server.get("/live").startswith(b"HTTP/1.1 201 "))
    state = H2Connection()
    data = b""
    status = ""
    with server.connect() as wire:
        state.initiate_connection()
        names = (
            (":method", "CONNECT"),
            (":protocol", "websocket"),
            (":scheme", "http"),
            (":authority", "a.example"),
            (":path", "/live/ws"),
            ("sec-websocket-version", "13"),
        )
        wire.sendall(state.data_to_send())
        state.receive_data(wire.recv(65536))
        state.send_headers(1, names)
        wire.sendall(state.data_to_send())
        while len(data) < 9:
            for event in state.receive_data(wire.recv(65536)):
                if isinstance(event, ResponseReceived):
                    value = event.headers[0][1]  # of :status
                    status = value.decode() if isinstance(value, bytes) else value
                    state.send_data(1, b"\x81\x82\0\0\0\0hi")
                elif isinstance(event, DataReceived):
                    data += event.data
                assert not isinstance(event, StreamReset)
            wire.sendall(state.data_to_send())
    assert (status, data) == ("200", b"\x81\x07echo hi")


def test_processes_end_in_order(server: ServerProcess) -> None:
    start(server)
    pid = shown(server.get("/live"))["pid"]
    server.stop()
    assert within(lambda: not Path(f"/proc/{pid}").exists())
    assert within(lambda: (server.root / "htdocs/live.asgi.ended").exists())


def test_a_killed_process_is_replaced(server: ServerProcess) -> None:
    start(server)
    pid = shown(server.get("/live"))["pid"]
    assert isinstance(pid, int)
    os.kill(pid, 9)
    until = time.monotonic() + 10
    while time.monotonic() < until:
        reply = server.get("/live")
        if reply.startswith(b"HTTP/1.1 201 ") and shown(reply)["pid"] != pid:
            break
        time.sleep(0.05)
    else:
        pytest.fail("not replaced")
    assert f"mod_wsgi (pid={pid}): Process 'live' has died, deregister and restart it." in server.errors()
