"""whimbrel lsp as a command: help, the missing extra, a port that is taken."""

from __future__ import annotations

import socket

import pytest
from typer.testing import CliRunner

from whimbrel.cli import lsp


def test_help_names_exit_codes_and_examples() -> None:
    text = CliRunner().invoke(lsp.app, ["--help"]).output
    assert "Exit codes:" in text
    assert "whimbrel lsp --tcp 2087" in text
    assert "--tcp PORT" in text


def test_without_its_packages_it_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def absent(_package: str) -> bool:
        return False

    monkeypatch.setattr(lsp, "is_installed", absent)
    assert CliRunner().invoke(lsp.app, []).exit_code == 2
    assert "install 'whimbrel[lsp]'" in capfd.readouterr().err


@pytest.mark.parametrize("port", ["0", "65536", "x"])
def test_a_wrong_port_is_wrong_usage(port: str) -> None:
    assert CliRunner().invoke(lsp.app, ["--tcp", port]).exit_code == 2


def test_a_port_that_is_taken_is_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pygls", reason="the extra lsp is not installed")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert CliRunner().invoke(lsp.app, ["--tcp", str(port)]).exit_code == 2
    assert capfd.readouterr().err.startswith(f"127.0.0.1:{port}: ")
