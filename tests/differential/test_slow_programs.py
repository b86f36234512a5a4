"""Programs that do not read their input, or end with an error: what apache2 and Whimbrel answer, and when."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.differential.servers import APACHE, WHIMBREL
from tests.differential.stock_site import StockServer, write_documents

pytestmark = pytest.mark.skipif(not APACHE.present, reason="apache2 is not installed")
TIMEOUT = 1
ATTEMPTS = 10
HEAD = "printf 'Content-Type: x/y\\n\\nhi\\n'"
SCRIPTS = {
    "silent": f"sleep 5; {HEAD}",  # reads and writes nothing
    "early": f"{HEAD}; sleep 5",  # writes, and reads nothing
    "quick": HEAD,  # ends without reading
    "reads": f"cat >/dev/null; {HEAD}",
}
SIZES = (0, 1000, 70_000, 2_000_000)
FILTERS = ("cat; exit 1", "head -c 5; exit 1", "exit 1", "cat >/dev/null; exit 3", "cat; sleep 0.1; exit 1")


@pytest.fixture(scope="module")
def servers() -> Iterator[list[StockServer]]:
    with TemporaryDirectory(prefix="slow-") as name, ExitStack() as stack:
        base = Path(name)
        base.chmod(0o755)
        write_documents(base)
        root = base / "www/html"
        for script, text in SCRIPTS.items():
            path = root / f"{script}.run"
            path.write_text(f"#!/bin/sh\n{text}\n")
            path.chmod(0o755)
        conf = f"Timeout {TIMEOUT}\n<Directory {root}>\nOptions +ExecCGI\n"
        conf += "AddHandler cgi-script .run\n</Directory>\n"
        for number, command in enumerate(FILTERS):
            (root / f"filtered{number}").write_text("a small file\n")
            conf += (
                f"ExtFilterDefine f{number} cmd=\"/bin/sh -c '{command}'\"\n"
                f"<Location /filtered{number}>\nSetOutputFilter f{number}\n</Location>\n"
            )
        both = [
            stack.enter_context(StockServer(program, base, conf, modules=["cgid", "ext_filter"]))
            for program in (APACHE, WHIMBREL)
        ]
        assert all(server.started for server in both), [server.output for server in both]
        yield both


def post(port: int, path: str, size: int) -> tuple[bytes, bytes, float]:
    """Return status and body of the response to a body of *size* bytes, and the seconds that it took."""
    begin, data = time.monotonic(), b""
    with socket.create_connection(("127.0.0.1", port), 15) as wire:
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        head += f"Content-Length: {size}\r\n\r\n"
        wire.sendall(head.encode())

        def send() -> None:
            with contextlib.suppress(OSError):
                wire.sendall(b"x" * size)

        threading.Thread(target=send, daemon=True).start()
        with contextlib.suppress(ConnectionError):
            while piece := wire.recv(65_536):
                data += piece
    return data[9:12], b"hi\n" if b"hi\n" in data else b"", time.monotonic() - begin


def test_a_script_that_reads_nothing_does_not_escape_the_timeout(servers: list[StockServer]) -> None:
    requests = [(f"/{script}.run", size) for script in SCRIPTS for size in SIZES]
    with ThreadPoolExecutor(len(requests)) as threads:
        theirs, ours = (
            list(threads.map(lambda each: post(server.port, *each), requests))  # noqa: B023
            for server in servers
        )
    for request, one, two in zip(requests, theirs, ours, strict=True):
        if one[0]:  # apache2 may reset the connection of a client that still sends
            assert one[:2] == two[:2], request
        assert two[2] < 4.5, request  # before the script ends
    assert ours[requests.index(("/silent.run", 70_000))][0] == b"504"


@pytest.mark.parametrize("number", range(len(FILTERS)))
def test_the_exit_status_of_a_filter_does_not_matter(servers: list[StockServer], number: int) -> None:
    """apache2 answers with the unfiltered file if the program ends before apache2 writes to it, which happens
    under load: several attempts count.
    """
    request = f"GET /filtered{number} HTTP/1.1\nHost: localhost\nConnection: close"
    httpd, whimbrel = servers
    ours = whimbrel.ask(request)
    assert ours[0] == "HTTP/1.1 200 OK"
    theirs: list[tuple[str, bytes]] = []
    while (ours[0], ours[2]) not in theirs and len(theirs) < ATTEMPTS:
        answer = httpd.ask(request)
        theirs.append((answer[0], answer[2]))
    assert (ours[0], ours[2]) in theirs
