"""`whimbrel studio`: wrong usage ends with a sentence and a status."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.studio.studio_site import write_site
from typer.testing import CliRunner

from whimbrel.cli.studio import app


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
