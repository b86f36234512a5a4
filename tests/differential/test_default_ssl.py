"""Debian's default-ssl.conf and mods-available/ssl.conf start and answer under Whimbrel as under apache2.

Of the copy of /etc/apache2 only ports and directories are changed; where the machine has no certificate of
the package ssl-cert, a new one takes its place.
"""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.differential.servers import APACHE, WHIMBREL, Program
from tests.differential.stock_site import STOCK, Reply, StockServer, reduced, write_documents
from whimbrel.testing.ports import free_port

SITE = "sites-available/default-ssl.conf"
SNAKEOIL = (Path("/etc/ssl/certs/ssl-cert-snakeoil.pem"), Path("/etc/ssl/private/ssl-cert-snakeoil.key"))
pytestmark = [
    pytest.mark.skipif(not APACHE.present, reason="apache2 is not installed"),
    pytest.mark.skipif(not (STOCK / SITE).exists(), reason="/etc/apache2 has no default-ssl.conf"),
    pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed"),
]
REQUESTS = (
    "GET / HTTP/1.1\nHost: localhost\nConnection: close",
    "GET /words.txt HTTP/1.1\nHost: localhost\nConnection: close\nAccept-Encoding: gzip",
    "GET /none HTTP/1.1\nHost: localhost\nConnection: close",
    "GET / HTTP/1.0",
)


class DefaultSslServer(StockServer):
    """A stock server whose default-ssl.conf is enabled."""

    def __init__(self, program: Program, base: Path, pair: tuple[Path, Path]) -> None:
        super().__init__(program, base, modules=("ssl", "socache_shmcb"))
        self.tls_port = free_port()
        self._edit("ports.conf", (("Listen 443\n", f"Listen 127.0.0.1:{self.tls_port}\n"),))
        self._edit(
            SITE,
            (
                ("*:443>", f"*:{self.tls_port}>"),
                ("_default_:443>", f"_default_:{self.tls_port}>"),
                ("/var/www/", f"{base}/www/"),
                (str(SNAKEOIL[0]), str(pair[0])),
                (str(SNAKEOIL[1]), str(pair[1])),
            ),
        )
        (self.root / "sites-enabled/default-ssl.conf").symlink_to(f"../{SITE}")

    def ask_tls(self, request: str) -> Reply:
        """Return the reply to a request over TLS."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with (
            socket.create_connection(("127.0.0.1", self.tls_port), timeout=30) as wire,
            context.wrap_socket(wire, server_hostname="localhost") as tls,
        ):
            tls.sendall((request.replace("\n", "\r\n") + "\r\n\r\n").encode("latin-1"))
            parts = []
            while data := tls.recv(65536):
                parts.append(data)
            certificate = tls.getpeercert(binary_form=True)
            assert certificate is not None
        first, fields, body = reduced(b"".join(parts))
        return first, (*fields, ("certificate", certificate.hex())), body


def _certificate(base: Path) -> tuple[Path, Path]:
    if all(path.exists() and os.access(path, os.R_OK) for path in SNAKEOIL):
        return SNAKEOIL
    pair = base / "snakeoil.pem", base / "snakeoil.key"
    words = "openssl req -x509 -nodes -newkey rsa:2048 -days 30 -subj /CN=localhost".split()
    files = ["-out", str(pair[0]), "-keyout", str(pair[1])]
    subprocess.run([*words, *files], check=True, capture_output=True)
    return pair


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[DefaultSslServer, DefaultSslServer]]:
    with tempfile.TemporaryDirectory(prefix="whimbrel-default-ssl-") as name:
        base = Path(name)
        write_documents(base)
        pair = _certificate(base)
        with (
            DefaultSslServer(APACHE, base, pair) as apache,
            DefaultSslServer(WHIMBREL, base, pair) as whimbrel,
        ):
            assert (apache.started, apache.output) == (True, "")
            assert (whimbrel.started, whimbrel.output) == (True, "")
            yield apache, whimbrel


@pytest.mark.parametrize("request_text", REQUESTS)
def test_default_ssl_answers_alike(
    servers: tuple[DefaultSslServer, DefaultSslServer], request_text: str
) -> None:
    apache, whimbrel = servers
    for _ in range(2):
        assert whimbrel.ask_tls(request_text) == apache.ask_tls(request_text)


def test_the_plain_site_is_served_as_well(servers: tuple[DefaultSslServer, DefaultSslServer]) -> None:
    apache, whimbrel = servers
    assert whimbrel.ask(REQUESTS[0]) == apache.ask(REQUESTS[0])
