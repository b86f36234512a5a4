"""A running server with TLS: tickets in all workers and after graceful, new certificates, layers."""

from __future__ import annotations

import asyncio
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from tests.server.conftest import ServerProcess
from tests.support.ocsp import Certificate

from whimbrel.testing.ports import free_port

CONF = """\
LoadModule ssl_module m/mod_ssl.so
LoadModule http2_module m/mod_http2.so
Protocols h2 http/1.1
StartServers 2
ServerLimit 2
LogLevel warn ssl:info
<Directory {root}>
    Require all granted
</Directory>
SSLEngine on
SSLCertificateFile conf/a.crt
SSLCertificateKeyFile conf/a.key
"""
CLOSE = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


OLD, NEW = Certificate("localhost"), Certificate("localhost")


def install(site: ServerProcess, certificate: Certificate) -> None:
    """Make *certificate* that of the server; each of both files is replaced at once."""
    certificate.write(site.root / "conf", "new")
    for suffix in ("crt", "key"):
        (site.root / "conf" / f"new.{suffix}").rename(site.root / "conf" / f"a.{suffix}")


@pytest.fixture
def site(server: ServerProcess) -> ServerProcess:
    install(server, OLD)
    (server.root / "conf/extra.conf").write_text(CONF.format(root=server.root))
    server.start()
    return server


def new_context(version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = version
    return context


def fetch(
    site: ServerProcess, context: ssl.SSLContext, session: ssl.SSLSession | None = None
) -> tuple[ssl.SSLSession, bool, bytes]:
    """Return the session of one request, True if it was resumed, and the server's certificate."""
    with (
        socket.create_connection(("127.0.0.1", site.port), 20) as wire,
        context.wrap_socket(wire, server_hostname="localhost", session=session) as tls,
    ):
        tls.sendall(CLOSE)
        data = b""
        while more := tls.recv(65536):
            data += more
        assert data.startswith(b"HTTP/1.1 200 ")
        assert tls.session is not None
        return tls.session, bool(tls.session_reused), tls.getpeercert(binary_form=True) or b""


def graceful(site: ServerProcess) -> None:
    """Restart gracefully; return when the new workers serve."""
    before = set(site.workers())
    site.signal(signal.SIGUSR1)
    site.wait_for(lambda: set(site.workers()) and not before & set(site.workers()))


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_tickets_resume_in_any_worker_and_after_graceful(
    site: ServerProcess, version: ssl.TLSVersion
) -> None:
    context = new_context(version)
    session, is_resumed, _ = fetch(site, context)
    assert not is_resumed
    assert all(fetch(site, context, session)[1] for _ in range(12))
    graceful(site)
    assert all(fetch(site, context, session)[1] for _ in range(4))


def test_certificates_replaced_under_load(site: ServerProcess) -> None:
    """No handshake fails while the certificate changes five times; each has one of both certificates."""
    failures: list[str] = []
    seen: set[bytes] = set()
    ended = threading.Event()

    def load() -> None:
        while not ended.is_set():
            try:
                seen.add(fetch(site, new_context())[2])
            except (OSError, AssertionError) as problem:
                failures.append(repr(problem))

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for certificate in (NEW, OLD, NEW, OLD, NEW):
            install(site, certificate)
            graceful(site)
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert failures == []
    assert fetch(site, new_context())[2] == NEW.der
    assert seen == {OLD.der, NEW.der}


@pytest.fixture
def own_site(server: ServerProcess) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """`whimbrel serve --tls PORT` for a server root."""
    tls_port = free_port()
    program = [sys.executable, "-c", "from whimbrel.cli.entry import main; main()"]
    command = [*program, "serve", "-d", str(server.root), "--tls", str(tls_port), "--builtin", "debian"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        end = time.monotonic() + 30
        while time.monotonic() < end and process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", tls_port)) == 0:
                    break
            time.sleep(0.02)
        yield tls_port, process
    finally:
        process.terminate()
        process.wait(20)


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_serve_answers_curl_with_its_certificate(own_site: tuple[int, subprocess.Popen[str]]) -> None:
    port, process = own_site
    assert process.stdout is not None
    line = process.stdout.readline()
    address, _, file = line.rstrip().partition("  certificate: ")
    assert address == f"https://localhost:{port}/"
    done = subprocess.run(
        ["curl", "-sS", "--noproxy", "*", "--cacert", file, address],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("hello\n", "")


LAYERS = """\
LoadModule remoteip_module m/mod_remoteip.so
LoadModule dumpio_module m/mod_dumpio.so
LoadModule ssl_module m/mod_ssl.so
LoadModule http2_module m/mod_http2.so
LoadModule proxy_module m/mod_proxy.so
LoadModule proxy_http_module m/mod_proxy_http.so
Protocols h2 http/1.1
H2WebSockets on
{layers}
LogLevel warn dumpio:trace7
ErrorLogFormat "%M"
ProxyPass /ws ws://127.0.0.1:{port}
<Location />
    Require all granted
</Location>
SSLEngine on
SSLCertificateFile conf/a.crt
SSLCertificateKeyFile conf/a.key
"""
ALL_LAYERS = "RemoteIPProxyProtocol On\nDumpIOInput On\nDumpIOOutput On"


def layered(server: ServerProcess, layers: str = "", port: int = 1) -> ServerProcess:
    install(server, OLD)
    (server.root / "conf/extra.conf").write_text(LAYERS.format(layers=layers, port=port))
    server.start()
    return server


@pytest.mark.parametrize("protocol", ["http/1.1", "h2"])
def test_proxy_header_and_dumpio_around_tls(server: ServerProcess, protocol: str) -> None:
    """The header comes before the handshake; dumpio sees plain text; the log has the client of the header."""
    site = layered(server, ALL_LAYERS)
    context = new_context()
    context.set_alpn_protocols([protocol])
    with site.connect() as wire:
        wire.sendall(b"PROXY TCP4 10.1.2.3 10.9.9.9 5555 443\r\n")
        with context.wrap_socket(wire, server_hostname="localhost") as tls:
            assert tls.selected_alpn_protocol() == protocol
            if protocol == "http/1.1":
                tls.sendall(CLOSE)
                data = b""
                while more := tls.recv(65536):
                    data += more
                assert data.endswith(b"\r\n\r\nhello\n")
            else:
                assert _get_http2(tls) == b"hello\n"
    seen = "(data-HEAP): GET / HTTP/1.1" if protocol == "http/1.1" else "PRI * HTTP/2.0"
    site.wait_for(lambda: seen in (site.root / "logs/error_log").read_text())
    site.wait_for(lambda: (site.root / "logs/access_log").read_text().startswith("10.1.2.3 GET / HTTP/"))


def _get_http2(tls: ssl.SSLSocket) -> bytes:
    """Return the body of / over HTTP/2."""
    h2 = pytest.importorskip("h2.connection", reason="the optional package h2 is not installed")
    events = pytest.importorskip("h2.events", reason="the optional package h2 is not installed")
    connection, body = h2.H2Connection(), b""
    connection.initiate_connection()
    fields = [(":method", "GET"), (":path", "/"), (":scheme", "https"), (":authority", "localhost")]
    connection.send_headers(1, fields, end_stream=True)
    while True:
        tls.sendall(connection.data_to_send())
        for event in connection.receive_data(tls.recv(65536)):
            if isinstance(event, events.DataReceived):
                body += event.data
            elif isinstance(event, events.StreamEnded):
                return body


def test_websocket_over_tls(server: ServerProcess) -> None:
    pytest.importorskip("websockets", reason="the package websockets is not installed")
    from websockets.asyncio.client import connect
    from websockets.asyncio.server import ServerConnection, serve

    async def answer(wire: ServerConnection) -> None:
        async for message in wire:
            await wire.send(message)

    async def main() -> list[bool]:
        async with serve(answer, "127.0.0.1", 0) as backend:
            site = layered(server, port=next(iter(backend.sockets)).getsockname()[1])
            url = f"wss://localhost:{site.port}/ws"
            async with connect(url, ssl=new_context(), host="127.0.0.1") as wire:
                got = []
                for message in ("text", bytes(200_000)):
                    await wire.send(message)
                    got.append(await wire.recv() == message)
                return got

    assert asyncio.run(main()) == [True, True]


def test_a_tunnel_of_http2_over_tls(server: ServerProcess) -> None:
    """WebSocket by extended CONNECT (RFC 8441), as in test_http2_tunnels, over TLS."""
    tunnels = pytest.importorskip(
        "tests.server.test_http2_tunnels", reason="the optional package h2 is missing"
    )
    backend = tunnels.Backend()
    site = layered(server, port=backend.port)
    context = new_context()
    context.set_alpn_protocols(["h2"])
    plain = site.connect
    site.connect = lambda: context.wrap_socket(plain(), server_hostname="localhost")  # type: ignore[method-assign]
    client = tunnels.Client(site)
    client.request([(name, "https" if name == ":scheme" else value) for name, value in tunnels.EXTENDED])
    assert client.head()[":status"] == "200"
    client.send(b"one")
    assert client.read(3) == b"one"
    client.send(b"two", end=True)
    assert client.rest() == (b"twoend", "StreamEnded")


def test_warnings_about_a_virtual_host_are_in_its_error_log(server: ServerProcess) -> None:
    """httpd logs AH01909 of a virtual host in the host's ErrorLog, once for each run of post_config."""
    install(server, OLD)
    host = (
        f"<VirtualHost *:{server.port}>\nServerName other.example\nErrorLog logs/other\nSSLEngine on\n"
        "SSLCertificateFile conf/a.crt\nSSLCertificateKeyFile conf/a.key\n</VirtualHost>\n"
    )
    text = CONF.format(root=server.root).replace("SSLEngine on", host + "SSLEngine on")
    (server.root / "conf/extra.conf").write_text(text)
    server.start()
    assert (server.root / "logs/other").read_text().count("AH01909: other.example:") == 2
    others = [path for path in (server.root / "logs").iterdir() if path.is_file() and path.name != "other"]
    assert others and not any("other.example:" in path.read_text(errors="replace") for path in others)
