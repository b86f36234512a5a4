"""Consoles of rich: the texts of places are printed as they are."""

from __future__ import annotations

import ast
from io import StringIO
from pathlib import Path

import pytest

import whimbrel
from whimbrel.base.rich_console import file_console, terminal_console

PLACE = "conf/httpd.conf:100: Order allow,deny"


@pytest.mark.parametrize("width", [None, 80])
def test_a_place_is_no_emoji(width: int | None) -> None:
    """`:100:` and `:1234:` are line numbers; rich has an emoji for the first one."""
    output = StringIO()
    file_console(output, is_colored=False, width=width).print(PLACE)
    assert output.getvalue() == f"{PLACE}\n"


def test_a_place_is_no_emoji_at_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """The consoles of standard output print it as they are told, too."""
    terminal_console(soft_wrap=True).print(PLACE)
    assert capsys.readouterr().out == f"{PLACE}\n"


def test_consoles_are_made_in_one_place() -> None:
    """No other module makes a console of rich: its default reads line numbers as emoji."""
    package = Path(whimbrel.__file__).parent
    makers = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if "Console(" in path.read_text()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Console"
    }
    assert makers == {"base/rich_console.py"}
