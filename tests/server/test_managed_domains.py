"""mod_md against pebble: certificates are issued, activated and renewed while a client asks all the time."""

from __future__ import annotations

import signal
import socket
import ssl
import threading
from pathlib import Path

import pytest

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from tests.server.conftest import ServerProcess
from tests.support.pebble import MISSING, Pebble, pebble

from whimbrel.testing.ports import free_port

CONF = """\
LoadModule ssl_module m/mod_ssl.so
LoadModule md_module m/mod_md.so
LogLevel info
MDStoreDir md
MDPortMap http:{http} https:{https}
MDCertificateAuthority {ca.directory}
MDCACertificateFile {ca.ca_file}
MDCertificateAgreement accepted
MDContactEmail me@example.org
MDPrivateKeys secp256r1
MDRetryDelay 1s
MDomain a.test
{more}
Listen 127.0.0.1:{https}
<VirtualHost *:{http}>
ServerName a.test
</VirtualHost>
<VirtualHost *:{https}>
ServerName a.test
ServerAlias b.test
SSLEngine on
Protocols http/1.1 acme-tls/1
</VirtualHost>
"""


class Client:
    """A client that asks for / over new connections until it is stopped.

    Attributes:
        seen: status and certificate (DER) of each response; `failures`: what went wrong.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.seen: list[tuple[int, bytes]] = []
        self.failures: list[str] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        while not self._stop.wait(0.005):
            try:
                self.seen.append(fetch(context, self.port))
            except (OSError, ValueError) as problem:
                self.failures.append(repr(problem))

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(30)


def fetch(context: ssl.SSLContext, port: int) -> tuple[int, bytes]:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as wire:
        with context.wrap_socket(wire, server_hostname="a.test") as tls:
            tls.sendall(b"GET /index.html HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n")
            out = b""
            while data := tls.recv(65536):
                out += data
            certificate = tls.getpeercert(True)
    assert certificate is not None
    return int(out.split(b" ", 2)[1]), certificate


def count(server: ServerProcess, code: str) -> int:
    return (server.root / "logs/error_log").read_text().count(code)


def graceful(server: ServerProcess) -> None:
    old = server.workers()
    server.signal(signal.SIGUSR1)
    server.wait_for(lambda: server.workers() and not set(old) & set(server.workers()))


def configure(server: ServerProcess, ca: Pebble, https: int, more: str) -> None:
    text = CONF.format(http=server.port, https=https, ca=ca, more=more)
    (server.root / "conf/extra.conf").write_text(text)


@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_certificates_are_issued_and_renewed_without_a_failed_request(
    server: ServerProcess,
) -> None:
    https, folder = free_port(), server.root / "ca"
    folder.mkdir()
    with pebble(folder, server.port, https) as ca:
        configure(server, ca, https, "")
        server.start()
        client = Client(https)
        try:
            server.wait_for(lambda: count(server, "AH10059") == 1)
            graceful(server)
            verified = ssl.create_default_context(cadata=ca.root())
            status, first = fetch(verified, https)
            assert status == 200
            configure(server, ca, https, "MDRenewWindow 3650d\nMDCAChallenges http-01")
            graceful(server)
            server.wait_for(lambda: count(server, "AH10059") == 2)
            graceful(server)
            status, second = fetch(verified, https)
            assert status == 200 and second != first
        finally:
            client.stop()
        _check(client, first, second)
        assert count(server, "AH10056") == 0, server.errors()
        assert count(server, "registered new account") == 1
        _check_store(server.root / "md")


def _check(client: Client, first: bytes, second: bytes) -> None:
    assert client.failures == []
    order: list[bytes] = []
    for _status, certificate in client.seen:
        if not order or order[-1] != certificate:
            order.append(certificate)
    assert order[1:] == [first, second] or order[1:-1] == [first, second]
    assert {der for status, der in client.seen if status == 503} == {order[0]}
    assert {der for status, der in client.seen if status == 200} == {first, second}
    assert {status for status, _ in client.seen} == {200, 503}


def _check_store(store: Path) -> None:
    """No file with a key is readable by others, except an account's, which is encrypted."""
    files = [path for path in store.rglob("*") if path.is_file()]
    found = [path for path in files if b"BEGIN PRIVATE KEY" in path.read_bytes()]
    assert len(found) >= 2
    assert [path for path in [*found, store / "md_store.json"] if path.stat().st_mode & 0o077] == []
