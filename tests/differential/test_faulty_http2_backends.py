"""Broken HTTP/2 back ends behind apache2 and Whimbrel: same statuses, and the next request is answered."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.differential.raw_exchange import exchange
from tests.differential.servers import APACHE, WHIMBREL
from tests.differential.stock_site import StockServer, write_documents
from tests.support.faulty_http2_backend import FAULTS, FaultyHttp2Backend

pytestmark = pytest.mark.skipif(not APACHE.present, reason="apache2 is not installed")
CONF = """
Timeout 5
ProxyTimeout 1
ProxyPass / h2c://127.0.0.1:{port}/
"""
# Faults after which apache2 waits for ever, or sends a status that hides them; Whimbrel's status. A tuple:
# which of them depends on the reads in which the frames arrive.
STRICTER: dict[str, int | tuple[int, ...]] = {
    "two-heads": 503,  # h2 ends the connection
    "trailer-open": 503,
    "length-long": 502,  # apache2: 200, and an error page behind the short body
    "many-fields": 503,  # above the announced SETTINGS_MAX_HEADER_LIST_SIZE
    "rst-no-error": 502,  # apache2: 200 without a body
    "early-reset": 502,
    # 200 and the end of the connection, 503 where one read brings the head and the fault; apache2 hangs in a
    # later request
    "data-over-window": (200, 503),
    "empty-data-flood": 503,  # apache2 reads on as long as frames come
    "unknown-flood": 503,
    "interim-flood": 502,
    "ping-drip": 503,
    "settings-drip": 503,
    "window-drip": 503,
}
BODY = b"u" * 200_000
ATTEMPTS = {"early-close": 5, "early-goaway": 5}
"""A back end that closes with an unread upload resets the connection: whether its answer is still read (413)
or lost (503) depends on which packet comes first, in both servers."""


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[StockServer, StockServer]]:
    with TemporaryDirectory(prefix="whimbrel-h2-") as name, FaultyHttp2Backend() as one:
        base = Path(name)
        base.chmod(0o755)
        write_documents(base)
        modules = ["proxy", "proxy_http2"]
        with (
            FaultyHttp2Backend() as two,
            StockServer(APACHE, base, CONF.format(port=one.port), modules=modules) as apache,
            StockServer(WHIMBREL, base, CONF.format(port=two.port), modules=modules) as whimbrel,
        ):
            assert apache.started, apache.output
            assert whimbrel.started, whimbrel.output
            yield apache, whimbrel


def fetch(server: StockServer, name: str) -> tuple[int, float]:
    """Return the status of the answer to a fault, and its seconds; 0 without an answer."""
    body = BODY if name.startswith("early") else b""
    line = f"POST /{name} HTTP/1.1\r\nContent-Length: {len(body)}" if body else f"GET /{name} HTTP/1.1"
    begin = time.monotonic()
    data = exchange(server.port, f"{line}\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode() + body)
    return int(data[9:12] or 0), time.monotonic() - begin


@pytest.mark.parametrize("name", sorted(set(FAULTS) - STRICTER.keys()))
def test_same_statuses(servers: tuple[StockServer, StockServer], name: str) -> None:
    found: tuple[list[int], list[int]] = ([], [])
    for _ in range(ATTEMPTS.get(name, 1)):
        for statuses, server in zip(found, servers, strict=True):
            statuses.append(fetch(server, name)[0])
        if set(found[0]) & set(found[1]):
            break
    assert set(found[0]) & set(found[1]), found
    assert [fetch(server, "ok")[0] for server in servers] == [200, 200]


@pytest.mark.parametrize("name", sorted(STRICTER))
def test_faults_that_whimbrel_ends(servers: tuple[StockServer, StockServer], name: str) -> None:
    expected = STRICTER[name]
    statuses = expected if isinstance(expected, tuple) else (expected,)
    assert fetch(servers[1], name)[0] in statuses
    status, seconds = fetch(servers[1], "ok")
    assert status == 200
    assert seconds < 1


def test_no_traceback(servers: tuple[StockServer, StockServer]) -> None:
    """After the faults above, early answers to uploads among them."""
    for name in FAULTS:
        if name.startswith("early"):
            fetch(servers[1], name)
    assert "Traceback" not in servers[1].output
    log = servers[1].run / "error.log"
    assert not log.exists() or "Traceback" not in log.read_text("latin-1")
