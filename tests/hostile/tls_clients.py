"""Clients of the measure `tls-hosts`: their certificates, and what they send on one connection."""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import h2.config
import h2.connection
import h2.events

from tests.support.ocsp import Certificate

PATIENCE: Final = 10.0  # seconds for one response
REFUSED: Final = "refused"  # an alert, or the end of the connection, instead of a response
VERSIONS: Final = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}


@dataclass(frozen=True)
class Client:
    """One client.

    Attributes:
        sni: the names that it indicates on its connections, "" for none; each connection but the first
            resumes the session of the one before.
        hosts: the hosts of its requests on each connection; `path` is that of all.
        certificate: the name of its certificate, "" for none.
        has_later: it offers post-handshake authentication.
    """

    sni: tuple[str, ...]
    hosts: tuple[str, ...]
    path: str = "/"
    certificate: str = ""
    version: str = "1.3"
    has_later: bool = True
    is_http2: bool = False


class Certificates:
    """Two authorities, and certificates of clients: of each, of an intermediate authority, of none."""

    def __init__(self, root: Path) -> None:
        one, two = Certificate("ca1"), Certificate("ca2")
        between = Certificate("between", one, is_authority=True)
        server = Certificate("server", one)
        chains = {
            "c1": [Certificate("c1", one)],
            "c2": [Certificate("c2", two)],
            "deep": [Certificate("deep", between), between],
            "self": [Certificate("self")],
        }
        self.documents = {
            ".ht.ca1": one.pem,
            ".ht.ca2": two.pem,
            ".ht.crt": server.pem,
            ".ht.key": server.key_pem,
        }
        self.names = tuple(chains)
        self._files = {name: root / f"{name}.pem" for name in chains}
        for name, chain in chains.items():
            self._files[name].write_bytes(chain[0].key_pem + b"".join(each.pem for each in chain))

    def context(self, client: Client) -> ssl.SSLContext:
        """Return the context of *client*."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.minimum_version = context.maximum_version = VERSIONS[client.version]
        context.post_handshake_auth = client.has_later
        context.set_alpn_protocols(["h2"] if client.is_http2 else ["http/1.1"])
        if client.certificate:
            context.load_cert_chain(self._files[client.certificate])
        return context


def play(port: int, client: Client, context: ssl.SSLContext) -> list[list[str]]:
    """Return the status of each response on each connection, with its body where that is a page."""
    out: list[list[str]] = []
    session: ssl.SSLSession | None = None
    for name in client.sni:
        try:
            wire = socket.create_connection(("127.0.0.1", port), PATIENCE)
            with context.wrap_socket(wire, server_hostname=name or None, session=session) as tls:
                out.append(_http2(tls, client) if client.is_http2 else _http1(tls, client))
                session = tls.session
        except OSError:
            out.append([REFUSED])
    return out


def _http1(tls: ssl.SSLSocket, client: Client) -> list[str]:
    """Send the requests one after the other; end with the first that gets no response."""
    out = []
    for host in client.hosts:
        head = f"GET {client.path} HTTP/1.1\r\nHost: {host}\r\n\r\n"
        try:
            tls.sendall(head.encode())
            out.append(_response(tls))
        except OSError:
            out.append(REFUSED)
        if out[-1] == REFUSED:
            break
    return out


def _response(tls: ssl.SSLSocket) -> str:
    """Read one response whose length is known."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = tls.recv(65536)
        if not piece:
            return REFUSED
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    fields = dict(line.lower().partition(b":")[::2] for line in head.split(b"\r\n")[1:])
    length = int(fields.get(b"content-length", b"0"))
    while len(body) < length:
        piece = tls.recv(65536)
        if not piece:
            break
        body += piece
    status = head.split(b" ", 2)[1].decode()
    closes = " close" if fields.get(b"connection", b"").strip() == b"close" else ""
    return f"{status} {body.decode('latin-1').strip()}" if status == "200" else f"{status}{closes}"


def _http2(tls: ssl.SSLSocket, client: Client) -> list[str]:
    """Send each request after the response to the one before, on streams of one connection."""
    connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    connection.initiate_connection()
    out = []
    for host in client.hosts:
        stream = connection.get_next_available_stream_id()
        fields = [(":method", "GET"), (":scheme", "https"), (":authority", host), (":path", client.path)]
        connection.send_headers(stream, fields, end_stream=True)
        with suppress(OSError):
            tls.sendall(connection.data_to_send())
        out.append(_stream(tls, connection))
        if out[-1] == REFUSED:
            break
    return out


def _stream(tls: ssl.SSLSocket, connection: Any) -> str:
    """Read the response on the stream that is open."""
    status, body = "", b""
    while True:
        try:
            data = tls.recv(65536)
        except OSError:
            return REFUSED
        if not data:
            return REFUSED
        for event in connection.receive_data(data):
            if isinstance(event, h2.events.ResponseReceived):
                status = dict(event.headers)[b":status"].decode()
            elif isinstance(event, h2.events.DataReceived):
                body += event.data
            elif isinstance(event, h2.events.StreamReset):
                return f"reset {int(event.error_code)}"
            elif isinstance(event, h2.events.ConnectionTerminated):
                return REFUSED
            elif isinstance(event, h2.events.StreamEnded):
                return f"{status} {body.decode('latin-1').strip()}" if status == "200" else status
        with suppress(OSError):
            tls.sendall(connection.data_to_send())
