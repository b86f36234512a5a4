"""Extended CONNECT (RFC 8441) where a proxy of each scheme takes it: the status, and the request that
the back end reads, are apache2's.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator

import pytest

pytest.importorskip("h2", reason="the optional package h2 is not installed")

from h2.connection import H2Connection
from h2.events import ResponseReceived, StreamEnded, StreamReset

from tests.differential.raw_exchange import Documents, both
from tests.differential.site import ServerProcess
from tests.support.switching_backend import SwitchingBackend

SCHEMES = ("http", "ws", "scgi", "uwsgi")
CONF = """
LoadModule proxy_module %MODULES%/mod_proxy.so
LoadModule proxy_http_module %MODULES%/mod_proxy_http.so
LoadModule proxy_scgi_module %MODULES%/mod_proxy_scgi.so
LoadModule proxy_uwsgi_module %MODULES%/mod_proxy_uwsgi.so
LoadModule http2_module %MODULES%/mod_http2.so
Protocols h2c http/1.1
H2WebSockets on
ProxyTimeout 3
"""
FIELDS = (
    (":method", "CONNECT"),
    (":protocol", "websocket"),
    (":scheme", "http"),
    (":authority", "x"),
    ("sec-websocket-version", "13"),
)
KEY = re.compile(rb"(?i)(sec-websocket-key: )\S+")


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[SwitchingBackend, tuple[ServerProcess, ServerProcess]]]:
    with SwitchingBackend() as backend:
        places = [f"ProxyPass /{each}/ {each}://127.0.0.1:{backend.port}/\n" for each in SCHEMES]
        with both(CONF + "".join(places), Documents({})) as pair:
            yield backend, pair


def status_of(port: int, path: str) -> str:
    """Return the status of an extended CONNECT for *path*."""
    state, status = H2Connection(), ""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as wire:
        state.initiate_connection()
        wire.sendall(state.data_to_send())
        state.receive_data(wire.recv(65536))
        state.send_headers(1, [*FIELDS[:4], (":path", path), *FIELDS[4:]])
        wire.sendall(state.data_to_send())
        while data := wire.recv(65536):
            for event in state.receive_data(data):
                if isinstance(event, ResponseReceived):
                    status = str(event.headers[0][1])  # the pseudo-header field :status
                elif isinstance(event, StreamEnded | StreamReset):
                    return status
            wire.sendall(state.data_to_send())
    return status


@pytest.mark.parametrize("path", [f"/{each}/x" for each in SCHEMES])
def test_same_status_and_same_request(
    servers: tuple[SwitchingBackend, tuple[ServerProcess, ServerProcess]], path: str
) -> None:
    backend, pair = servers
    found = []
    for server in pair:
        backend.heads.clear()
        status = status_of(server.port, path)
        heads = [KEY.sub(rb"\1", head).replace(str(server.port).encode(), b"N") for head in backend.heads]
        found.append((status, heads))
    assert found[0] == found[1]
    assert found[0][0]
