"""An ASGI application of uvicorn behind ProxyPass."""

from __future__ import annotations

import hashlib
import http.client
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.applications.asgi_application import PAUSE, PIECES
from tests.differential.servers import APACHE, WHIMBREL
from tests.differential.stock_site import StockServer, write_documents
from tests.server.conftest import within
from whimbrel.testing.ports import free_port

pytest.importorskip("uvicorn", reason="the package uvicorn is not installed")
pytestmark = pytest.mark.skipif(not APACHE.present, reason="no /etc/apache2 to copy")
UPLOAD = bytes(range(256)) * 20_000  # 5.12 MB


@pytest.fixture(scope="module")
def site() -> Iterator[StockServer]:
    port = free_port()
    application = Path(__file__).with_name("asgi_application.py")
    command = [sys.executable, "-m", "uvicorn", f"{application.stem}:application", "--port", str(port)]
    process = subprocess.Popen([*command, "--app-dir", str(application.parent), "--log-level", "warning"])
    try:
        with TemporaryDirectory(prefix="uvicorn-") as name:
            base = Path(name)
            write_documents(base)
            conf = f"ProxyPass /app/ http://127.0.0.1:{port}/\n"
            with StockServer(WHIMBREL, base, conf, modules=["proxy", "proxy_http"]) as server:
                assert server.started, server.output
                assert within(lambda: get(server, "/app/")[0] == 200)
                yield server
    finally:
        process.terminate()
        process.wait(5)


def connect(site: StockServer) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", site.port, timeout=20)


def get(site: StockServer, path: str) -> tuple[int, bytes]:
    """Return status and body of the response to a GET on a connection of its own."""
    client = connect(site)
    try:
        client.request("GET", path)
        response = client.getresponse()
        return response.status, response.read()
    finally:
        client.close()


def test_get(site: StockServer) -> None:
    client = connect(site)
    for number in range(20):
        client.request("GET", f"/app/a/b?n={number}")
        response = client.getresponse()
        assert (response.status, response.getheader("x-set")) == (200, "one")
        assert response.read() == b"GET /a/b n=%d 127.0.0.1" % number
    client.request("HEAD", "/app/a")
    response = client.getresponse()
    assert (response.status, response.getheader("Content-Length")) == (200, "18")
    assert response.read() == b""
    client.close()


def test_streamed_pieces_arrive_one_by_one(site: StockServer) -> None:
    client = connect(site)
    client.request("GET", "/app/stream")
    response = client.getresponse()
    times = []
    for number in range(PIECES):
        assert response.readline() == b"piece %d\n" % number
        times.append(time.monotonic())
    assert response.read() == b""
    assert times[-1] - times[0] > PAUSE * (PIECES - 1) * 0.7
    client.close()


@pytest.mark.parametrize("chunked", [False, True])
def test_upload(site: StockServer, chunked: bool) -> None:
    client = connect(site)
    pieces = (UPLOAD[start : start + 50_000] for start in range(0, len(UPLOAD), 50_000))
    client.request("POST", "/app/upload", pieces if chunked else UPLOAD, encode_chunked=chunked)
    expected = f"{len(UPLOAD)} {hashlib.sha256(UPLOAD).hexdigest()}"
    assert client.getresponse().read().decode() == expected
    client.close()


def test_the_application_learns_that_the_client_is_gone(site: StockServer) -> None:
    before = int(get(site, "/app/disconnects")[1])
    client = connect(site)
    client.request("GET", "/app/endless")
    assert client.getresponse().read(5000) == b"x" * 5000
    client.close()
    assert within(lambda: int(get(site, "/app/disconnects")[1]) == before + 1)
