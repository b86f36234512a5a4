"""Help of the subcommands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support import warm_command
from typer.testing import CliRunner

from whimbrel.base.product import REPOSITORY
from whimbrel.cli.main import COMMANDS, app
from whimbrel.cli.utility_table import UTILITIES


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


@pytest.mark.parametrize("command", COMMANDS)
def test_no_help_names_a_document_that_a_wheel_lacks(command: str) -> None:
    assert re.findall(r"(?<!blob/main/)\b(?:docs|editors)/[\w.-]+", help_of(command)) == []


def test_an_address_stays_on_its_line() -> None:
    assert f"{REPOSITORY}/blob/main/editors/README.md" in help_of("lsp")


def test_the_list_of_commands_has_whole_sentences() -> None:
    commands = help_of().partition("Commands:\n")[2]
    assert "..." not in commands
    assert all(f"\n  {name} " in f"\n{commands}" for name in COMMANDS)


@pytest.mark.parametrize("name", UTILITIES)
def test_a_utility_prints_its_usage_and_reads_nothing(name: str, tmp_path: Path) -> None:
    words = [name, "--help"]
    found = warm_command.run(words, cwd=tmp_path, typed=b"127.0.0.1 x\n", entry=warm_command.utility)
    assert (found.returncode, found.stderr) == (0, b"")
    text = found.stdout.decode()
    assert text.startswith(f"{UTILITIES[name]}\n") and "127.0.0.1" not in text
    assert re.search(rf"^Usage:\s+(?:whimbrel )?{name} ", text, re.M), text
