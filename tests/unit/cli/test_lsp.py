"""whimbrel lsp as a command: help, the missing extra, a port that is taken."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from whimbrel.cli import lsp


def test_help_names_exit_codes_and_examples() -> None:
    text = CliRunner().invoke(lsp.app, ["--help"]).output
    assert "Exit codes:" in text
    assert "whimbrel lsp 2>lsp.log" in text


def test_without_its_packages_it_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def absent(_package: str) -> bool:
        return False

    monkeypatch.setattr(lsp, "is_installed", absent)
    assert CliRunner().invoke(lsp.app, []).exit_code == 2
    assert "install 'whimbrel[lsp]'" in capfd.readouterr().err
