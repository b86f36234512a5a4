"""Commands in README.md and docs/ have names and options that exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

import pytest
from tools.command_texts import command_texts, server_usage

from tests.meta.tree import ROOT
from whimbrel.cli.main import COMMANDS
from whimbrel.cli.utility_table import UTILITIES

DOCUMENTS: Final = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TYPED: Final = re.compile(
    r"(?:^ {4}|^\$ |`|\S \| )(?:\$ )?(?:\S*/)?(whimbrel(?:-httpd| [a-z][a-z-]*))(?= |$|`)([^\n`#|>&;]*)",
    re.MULTILINE,
)
OPTION: Final = re.compile(r"(?<!\S)(--[a-z0-9][a-z0-9.-]*)")


class Typed(NamedTuple):
    """A command line of a document."""

    where: str
    name: str
    options: tuple[str, ...]


def typed() -> Iterator[Typed]:
    """Yield the command lines of all documents."""
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        for found in TYPED.finditer(text):
            place = f"{path.name}:{text.count(chr(10), 0, found.start(1)) + 1}"
            yield Typed(place, found[1].removeprefix("whimbrel "), tuple(OPTION.findall(found[2])))


@pytest.fixture(scope="module")
def options() -> dict[str, str]:
    """Return the text about options of each command."""
    texts = {
        text.name: " ".join(term for _title, records in text.records for term, _ in records)
        for text in command_texts()
        if not text.usage
    }
    return texts | {"whimbrel-httpd": server_usage()}


def test_every_command_of_the_documents_exists(options: dict[str, str]) -> None:
    lines = list(typed())
    assert len(lines) > 100
    known = {*COMMANDS, *UTILITIES, "whimbrel-httpd"}
    assert [f"{line.where}: {line.name}" for line in lines if line.name not in known] == []


def test_every_option_of_the_documents_exists(options: dict[str, str]) -> None:
    checked = [(line, option) for line in typed() if line.name in options for option in line.options]
    assert len(checked) > 40
    absent = [
        f"{line.where}: {line.name} {option}"
        for line, option in checked
        if not re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", f"{options[line.name]} --help --version")
    ]
    assert absent == []


def test_the_page_of_serve_names_every_option(options: dict[str, str]) -> None:
    page = (ROOT / "docs/serve.md").read_text(encoding="utf-8")
    names = OPTION.findall(options["serve"])
    assert len(names) > 7
    assert [name for name in names if name != "--help" and name not in page] == []
