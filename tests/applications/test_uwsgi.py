"""A WSGI application of uwsgi behind mod_proxy_uwsgi, beside apache2."""

from __future__ import annotations

import hashlib
import http.client
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.differential.servers import APACHE, WHIMBREL
from tests.differential.stock_site import StockServer, write_documents
from tests.server.conftest import within
from whimbrel.testing.ports import free_port

PROGRAM = shutil.which("uwsgi_python3")
pytestmark = [
    pytest.mark.skipif(not APACHE.present, reason="no /etc/apache2 to copy"),
    pytest.mark.skipif(PROGRAM is None, reason="uwsgi with its plugin for Python is not installed"),
]
UPLOAD = bytes(range(256)) * 12_000  # 3 MB
CONF = """
ProxyPass /app/ uwsgi://127.0.0.1:{port}/
ProxyPass /socket/ unix:{base}/uwsgi.sock|uwsgi://birds/
"""


@pytest.fixture(scope="module")
def application() -> Iterator[tuple[Path, int]]:
    """Start uwsgi; return its directory and port."""
    port = free_port()
    with TemporaryDirectory(prefix="uwsgi-") as name:
        base = Path(name)
        write_documents(base)
        file = Path(__file__).with_name("wsgi_application.py")
        command = f"{PROGRAM} --socket 127.0.0.1:{port} --socket {base}/uwsgi.sock --chmod-socket=666"
        with (base / "uwsgi.log").open("wb") as log:
            process = subprocess.Popen(
                [*command.split(), "--master", "--processes=2", "--wsgi-file", str(file), "--die-on-term"],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            ready = "spawned uWSGI worker 2"
            log_file = base / "uwsgi.log"
            assert within(lambda: ready in log_file.read_text("latin-1")), log_file.read_text("latin-1")
            yield base, port
        finally:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(5)


@pytest.fixture(scope="module", params=[APACHE, WHIMBREL], ids=lambda program: program.name)
def site(request: pytest.FixtureRequest, application: tuple[Path, int]) -> Iterator[StockServer]:
    base, port = application
    conf = CONF.format(port=port, base=base)
    with StockServer(request.param, base, conf, modules=["proxy", "proxy_uwsgi"]) as server:
        assert server.started, server.output
        yield server


def ask(
    site: StockServer, path: str, method: str = "GET", body: bytes | None = None
) -> tuple[int, http.client.HTTPMessage, bytes]:
    """Return status, fields and body of the response on a connection of its own."""
    client = http.client.HTTPConnection("127.0.0.1", site.port, timeout=20)
    try:
        client.request(method, path, body, {"X-Bird": "knot"})
        response = client.getresponse()
        return response.status, response.headers, response.read()
    finally:
        client.close()


@pytest.mark.parametrize("prefix", ["/app", "/socket"])
def test_variables(site: StockServer, prefix: str) -> None:
    status, fields, body = ask(site, f"{prefix}/a%20b/c?q=1")
    assert (status, body.decode()) == (200, f"GET|{prefix}|/a b/c|q=1|knot|-")
    assert fields.get_all("Set-Cookie") == ["a=1", "b=2"]


def test_statuses_without_a_body(site: StockServer) -> None:
    assert ask(site, "/app/gone")[0] == 410
    assert (ask(site, "/app/unchanged")[0], ask(site, "/app/unchanged")[2]) == (304, b"")
    assert (ask(site, "/app/x", "HEAD")[0], ask(site, "/app/x", "HEAD")[2]) == (200, b"")


@pytest.mark.parametrize("prefix", ["/app", "/socket"])
def test_upload_and_long_answer(site: StockServer, prefix: str) -> None:
    expected = f"{len(UPLOAD)} {hashlib.sha256(UPLOAD).hexdigest()}"
    assert ask(site, f"{prefix}/upload", "POST", UPLOAD)[2].decode() == expected
    body = ask(site, f"{prefix}/long")[2]
    assert body == b"".join(b"%07d\n" % number * 1000 for number in range(500))


def test_an_application_that_fails_within_its_body(site: StockServer) -> None:
    status, _, body = ask(site, "/app/broken")
    assert (status, body) == (200, b"begin")


def test_a_client_that_leaves_frees_its_process(site: StockServer) -> None:
    for _ in range(4):  # two processes
        client = http.client.HTTPConnection("127.0.0.1", site.port, timeout=20)
        client.request("GET", "/app/endless")
        assert client.getresponse().read(5000) == b"x" * 5000
        client.close()
    assert ask(site, "/app/x")[0] == 200
