"""Requests that a proxy passes on and that switch protocols: the same responses, requests to the back end and
bytes of the tunnel as from apache2; Expect, HEAD and CONNECT on the same way.
"""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator

import pytest

from tests.differential.raw_exchange import Documents, both
from tests.differential.site import ServerProcess
from tests.support.switching_backend import SwitchingBackend

CONF = """
LoadModule proxy_module %MODULES%/mod_proxy.so
LoadModule proxy_http_module %MODULES%/mod_proxy_http.so
LoadModule proxy_connect_module %MODULES%/mod_proxy_connect.so
ProxyRequests On
AllowCONNECT 1-65535
ProxyTimeout 3
Timeout 3
ProxyPass /any/ http://127.0.0.1:@PORT@/ upgrade=ANY
ProxyPass /some/ http://localhost:@PORT@/ upgrade=websocket,tcp
ProxyPass /ws/ ws://127.0.0.2:@PORT@/
"""
VARYING = re.compile(rb"(?m)^(Date|Server|Proxy-agent): .*\r\n")
UPGRADE = "Connection: Upgrade\r\nUpgrade: {}\r\n"
PLACES = (("any", "websocket"), ("any", "tcp"), ("any", "foo"), ("some", "TCP"), ("ws", "websocket"))
BODIES = {
    "none": ("", ""),
    "empty": ("Content-Length: 0\r\n", ""),
    "short": ("Content-Length: 5\r\n", "hello"),
    "chunked": ("Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n0\r\n\r\n"),
    "long": ("Content-Length: 100000\r\n", "h" * 100000),
    "expected": ("Content-Length: 5\r\nExpect: 100-continue\r\n", "hello"),
}
CONNECT = "CONNECT 127.0.0.1:@PORT@ HTTP/1.1\r\nHost: x\r\n"
INNER = "GET /x HTTP/1.0\r\n\r\n"


def requests() -> dict[str, list[str]]:
    """Return the parts of each exchange by name; a part is sent when the bytes of the one before have had
    time to pass the proxy.
    """
    out: dict[str, list[str]] = {}
    for place, wanted in PLACES:
        for name, (fields, body) in BODIES.items():
            if place == "any" or name in ("none", "empty", "short"):
                head = f"POST /{place}/up HTTP/1.1\r\nHost: localhost\r\n{UPGRADE.format(wanted)}{fields}\r\n"
                out[f"{place} {wanted} {name}"] = [head + body, "quit"]
    head = f"POST /any/up-early HTTP/1.1\r\nHost: localhost\r\n{UPGRADE.format('tcp')}"
    out["answer amid the body"] = [f"{head}Content-Length: 60000\r\n\r\n{'h' * 30000}", "h" * 30000, "quit"]
    for version in ("1.0", "1.1"):
        line = f"GET /any/up-reason HTTP/{version}\r\nHost: localhost\r\n"
        out[f"reason {version}"] = [f"{line}{UPGRADE.format('tcp')}\r\n", "quit"]
        for method in ("HEAD", "GET"):
            line = f"{method} /any/coding HTTP/{version}\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            out[f"{method} in chunks {version}"] = [line]
    for method in ("GET", "POST"):
        for fields in ("", "Content-Length: 0\r\n"):
            line = f"{method} /any/x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            out[f"{method} Expect {fields}"] = [f"{line}Expect: 100-continue\r\n{fields}\r\n"]
    framings = ("", "Transfer-Encoding: chunked\r\n", "Content-Length: 5\r\n", "Content-Length: 0\r\n")
    for fields in (*framings, "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"):
        out[f"CONNECT {fields}"] = [f"{CONNECT}{fields}\r\n", INNER]
        out[f"CONNECT at once {fields}"] = [f"{CONNECT}{fields}\r\n{INNER}"]
    chunk = f"{len(INNER):x}\r\n{INNER}\r\n0\r\n\r\n"
    out["CONNECT a chunk"] = [f"{CONNECT}Transfer-Encoding: chunked\r\n\r\n{chunk}"]
    return out


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[SwitchingBackend, tuple[ServerProcess, ServerProcess]]]:
    with SwitchingBackend() as backend:
        with both(CONF.replace("@PORT@", str(backend.port)), Documents({})) as pair:
            yield backend, pair


def played(backend: SwitchingBackend, server: ServerProcess, parts: list[str]) -> tuple[object, ...]:
    """Return the response, and head and following bytes of the request that the back end has read."""
    backend.heads.clear()
    backend.bodies.clear()
    data = b""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as wire:
        for number, part in enumerate(parts):
            if number:
                wire.settimeout(0.3)
                try:
                    data += wire.recv(65536)
                except TimeoutError:
                    pass  # the answer needs the next part
                wire.settimeout(10)
            wire.sendall(part.replace("@PORT@", str(backend.port)).encode())
        while piece := wire.recv(65536):
            data += piece
    end = time.monotonic() + 5
    while len(backend.bodies) < len(backend.heads) and time.monotonic() < end:
        time.sleep(0.01)
    heads = [head.replace(str(server.port).encode(), b"N") for head in backend.heads]
    return VARYING.sub(b"", data).replace(str(server.port).encode(), b"N"), heads, backend.bodies[:]


@pytest.mark.parametrize("name", requests())
def test_same_exchange(
    servers: tuple[SwitchingBackend, tuple[ServerProcess, ServerProcess]], name: str
) -> None:
    backend, pair = servers
    want, got = (played(backend, server, requests()[name]) for server in pair)
    assert got == want
