"""`whimbrel studio`: wrong usage ends with a sentence and a status."""

from __future__ import annotations

import contextlib
import http.client
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.studio import StudioServer
from tests.unit.studio.studio_site import write_site
from typer.testing import CliRunner

from whimbrel.cli.studio import MAX_MEMORY, app
from whimbrel.studio.api import JSON, MAX_BODIES, MAX_BODY, TOKEN_FIELD


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Restore the handlers of signals that a served page sets."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


def test_a_path_without_a_server_ends_with_a_hint(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for path in (tmp_path / "nothing", tmp_path):
        result = CliRunner().invoke(app, [str(path)])
        assert result.exit_code == 2
    assert "hint:" in capfd.readouterr().err


def test_a_port_in_use_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write_site(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = CliRunner().invoke(app, [str(tmp_path), "--port", str(port)])
    assert result.exit_code == 1
    assert f"port {port} of 127.0.0.1 is in use" in capfd.readouterr().err


def request(studio: StudioServer, method: str, body: bytes) -> tuple[int, bytes]:
    """Call a method of the API and return status and document."""
    connection = http.client.HTTPConnection("127.0.0.1", studio.port, timeout=30)
    with contextlib.closing(connection):
        origin = f"http://127.0.0.1:{studio.port}"
        fields = {"Content-Type": JSON, TOKEN_FIELD: studio.key, "Origin": origin}
        connection.request("POST", f"/api/{method}", body, fields)
        response = connection.getresponse()
        return response.status, response.read()


def opened(port: int, data: bytes) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=30)
    connection.sendall(data)
    return connection


def test_slow_connections_and_announced_bodies_leave_the_page_alone(tmp_path: Path) -> None:
    """Other users of the machine can connect; whoever has the key can announce bodies: both have bounds."""
    write_site(tmp_path)
    with StudioServer(tmp_path) as studio, contextlib.ExitStack() as stack:
        limits = Path(f"/proc/{studio.process.pid}/limits").read_text()
        (line,) = [one for one in limits.splitlines() if one.startswith("Max data size")]
        assert line.split()[3] == str(MAX_MEMORY)
        for _ in range(120):
            stack.enter_context(opened(studio.port, b"GET / HTTP/1.1\r\nHo"))
        assert request(studio, "state", b"{}")[0] == 200
        head = (
            f"POST /api/state HTTP/1.1\r\nHost: 127.0.0.1:{studio.port}\r\nContent-Type: {JSON}\r\n"
            f"Origin: http://127.0.0.1:{studio.port}\r\n"
            f"{TOKEN_FIELD}: {studio.key}\r\nContent-Length: {MAX_BODY}\r\n\r\n"
        )
        announced = [opened(studio.port, head.encode()) for _ in range(MAX_BODIES // MAX_BODY)]
        ends = time.monotonic() + 20
        while request(studio, "state", b"{}")[0] != 503 and time.monotonic() < ends:
            time.sleep(0.02)
        assert request(studio, "state", b"{}")[0] == 503
        for connection in announced:
            connection.close()
        while request(studio, "state", b"{}")[0] != 200 and time.monotonic() < ends:
            time.sleep(0.02)
        assert request(studio, "state", b"{}")[0] == 200
