"""Help of the subcommands."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

from whimbrel.cli.main import COMMANDS, app


def help_of(*words: str) -> str:
    found = CliRunner().invoke(app, [*words, "--help"], prog_name="whimbrel")
    assert found.exit_code == 0
    return found.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_exit_codes_two_examples_and_no_types(command: str) -> None:
    text = help_of(command)
    _, codes, examples = re.split(r"^(?:Exit codes|Examples):\n", text, flags=re.M)
    assert re.findall(r"^  (\d)  \S", codes, re.M)[0] == "0"
    lines = examples.splitlines()
    assert len(lines) >= 2
    assert all(f"whimbrel {command}" in line and line.startswith("  ") for line in lines)
    assert re.findall(r"<(?:list|str|int|path|bool|\w+\|)[^>]*>", text) == []


def test_the_list_of_commands_has_whole_sentences() -> None:
    commands = help_of().partition("Commands:\n")[2]
    assert "..." not in commands
    assert all(f"\n  {name} " in f"\n{commands}" for name in COMMANDS)
