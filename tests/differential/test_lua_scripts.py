"""mod_lua: scripts get the same answers from both servers, with the same codes in the error log."""

from __future__ import annotations

import base64
import hashlib
import re
import socket
from collections import Counter
from pathlib import Path

import pytest

from tests.differential.lua_scripts import CONF, PLAIN, requests
from tests.differential.raw_exchange import Documents, both, differences, exchange

pytest.importorskip("lupa", reason="no lupa on this machine: mod_lua does not start without it")
if not Path("/usr/lib/apache2/modules/mod_lua.so").exists():
    pytest.skip("no mod_lua of apache2 on this machine: nothing to compare with", allow_module_level=True)

_CHUNK = re.compile(r"\r\n\r\n((?:[0-9a-f]+\r\n(?s:.)*?\r\n)+)0\r\n\r\n\Z")
SOCKET = """
function handle(r)
    if r:wsupgrade() then
        while true do
            local line = r:wsread()
            if not line then break end
            r:wswrite(line)
            if line == "quit" then r:wsclose() break end
        end
    end
    return apache2.OK
end
"""
KEY = "dGhlIHNhbXBsZSBub25jZQ=="  # RFC 6455, 1.3, with the value that belongs to it
ACCEPT = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="


def mask(reply: str) -> str:
    """Return *reply* with a chunked body in one piece: the sizes of its pieces differ."""
    found = _CHUNK.search(reply)
    if found is None:
        return reply
    body, data = "", found[1]
    while data:
        size, _, rest = data.partition("\r\n")
        count = int(size, 16)
        body, data = body + rest[:count], rest[count + 2 :]
    return f"{reply[: found.start()]}\r\n\r\n{body}<END>"


def codes(log: str) -> Counter[str]:
    """Return the levels and codes of mod_lua's lines in an error log, and if they name a client, counted."""
    found = re.findall(r"\[lua:(crit|error|warn)\].*?(\[client )?[^\[]*?(AH\d{5})", log)
    return Counter(" ".join(words).replace("[client ", "client").replace("  ", " ") for words in found)


def test_answers() -> None:
    with both(CONF, Documents(PLAIN)) as servers:
        found = differences(servers, requests(), mask)
        assert found == {}
        logs = [codes((server.run / "error_log").read_text("latin-1")) for server in servers]
        assert (logs[0] - logs[1], logs[1] - logs[0]) == (Counter(), Counter())
        assert logs[0]["warn AH01471"] > 2


def test_websocket() -> None:
    with both(CONF, Documents({**PLAIN, "socket.lua": SOCKET})) as servers:
        assert (
            base64.b64encode(hashlib.sha1((KEY + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest())
            == ACCEPT.encode()
        )
        replies = [_spoken(server.port) for server in servers]
        assert replies[0] == replies[1]
        assert replies[1][0].startswith("HTTP/1.1 101 Switching Protocols\r\n")
        assert f"Sec-WebSocket-Accept: {ACCEPT}\r\n" in replies[1][0]
        assert exchange(servers[1].port, b"GET /a.txt HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 200")


def _frame(text: bytes) -> bytes:
    return bytes((0x81, 0x80 | len(text), 1, 2, 3, 4)) + bytes(
        byte ^ (1, 2, 3, 4)[at % 4] for at, byte in enumerate(text)
    )


def _spoken(port: int) -> tuple[str, bytes]:
    """Return the head and the frames of an exchange of two frames and a ping."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(
            f"GET /socket.lua HTTP/1.1\r\nHost: here\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {KEY}\r\n\r\n".encode()
        )
        data = b""
        while b"\r\n\r\n" not in data:
            data += connection.recv(4096)
        head, _, frames = data.partition(b"\r\n\r\n")
        connection.sendall(_frame(b"hello") + _frame(b"quit"))
        try:
            while piece := connection.recv(4096):
                frames += piece
        except ConnectionResetError:
            pass
    lines = [line for line in head.decode("latin-1").split("\r\n") if not line.startswith(("Date", "Server"))]
    return "\r\n".join(lines) + "\r\n", frames
