"""Texts of the commands, from the commands themselves: for manual pages and for the documentation site."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

import typer
from typer import _click as click
from typer.core import TyperGroup

from whimbrel.cli.help import HelpCommand
from whimbrel.cli.main import COMMANDS, app
from whimbrel.cli.utility_table import UTILITIES, utility_usage
from whimbrel.cli.version_text import OWN_OPTIONS, usage

EXIT_CODES: Final = "Exit codes"
"""The title of the block of the epilog that has the exit codes."""


class CommandText(NamedTuple):
    """The help of one command.

    Attributes:
        name: the word behind `whimbrel`.
        summary: the first sentence, without its full stop.
        synopsis: arguments and options in short; "" for a utility.
        paragraphs: the description.
        records: arguments and options, each with its text, by the title of the list.
        blocks: title and lines of each part of the epilog; the title of a note is "".
        usage: what a utility of httpd prints about its options; "" for the others.
    """

    name: str
    summary: str
    synopsis: str = ""
    paragraphs: tuple[str, ...] = ()
    records: tuple[tuple[str, list[tuple[str, str]]], ...] = ()
    blocks: tuple[tuple[str, str], ...] = ()
    usage: str = ""

    def exit_codes(self) -> dict[int, str]:
        """Return the meaning of each exit code; {} for a utility."""
        text = dict(self.blocks).get(EXIT_CODES, "")
        return {int(code): meaning for code, meaning in (line.split(None, 1) for line in text.splitlines())}


def first_sentence(text: str) -> str:
    """Return the summary of a help text, without its full stop."""
    return " ".join(re.split(r"(?<=\.)\s", text.strip(), maxsplit=1)[0].split()).rstrip(".")


def summary() -> str:
    """Return the summary of `whimbrel` itself."""
    return first_sentence(typer.main.get_command(app).help or "")


def server_usage() -> str:
    """Return the options of `whimbrel-httpd`."""
    return usage("whimbrel-httpd", "2.4") + OWN_OPTIONS


def command_texts() -> Iterator[CommandText]:
    """Yield the texts of all commands in the order of `whimbrel --help`."""
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    context = click.Context(group, info_name="whimbrel")
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if name in COMMANDS:
            yield _subcommand(name, command)
        else:
            yield CommandText(name, first_sentence(UTILITIES[name]), usage=_utility_usage(name))


def _subcommand(name: str, command: click.Command) -> CommandText:
    assert isinstance(command, HelpCommand)
    context = click.Context(command, info_name=f"whimbrel {name}")
    blocks = []
    for block in re.split(r"\n\n", command.epilog or ""):
        title, _, rest = block.partition("\n")
        if rest:
            blocks.append((title.rstrip(":"), rest))
        elif block:
            blocks.append(("", block))
    return CommandText(
        name,
        first_sentence(command.help or ""),
        " ".join(command.collect_usage_pieces(context)),
        tuple(" ".join(text.split()) for text in re.split(r"\n\s*\n", (command.help or "").strip())),
        tuple((title, records) for title, records in command.help_records(context).items() if records),
        tuple(blocks),
    )


def _utility_usage(name: str) -> str:
    lines = utility_usage(name).splitlines()
    start = next(number for number, line in enumerate(lines) if line.lower().startswith("usage"))
    return "\n".join(lines[start:])
