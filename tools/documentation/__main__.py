"""Write the Markdown of the site into a directory, which is emptied first."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tools.documentation.commands import command_pages
from tools.documentation.directives import directive_pages
from tools.documentation.documents import PICTURES, ROOT, document_pages, navigation, pages
from tools.documentation.rules import rule_pages

REFERENCE: Final = {
    "Reference": [
        ("Commands", "commands/index.md"),
        ("Exit codes", "exit-codes.md"),
        ("Rules", "rules/index.md"),
        ("Directives", "directives/index.md"),
    ]
}
"""The part of the navigation that has the pages from code."""


def site_pages() -> Iterator[tuple[str, str]]:
    """Yield path and text of every page."""
    yield from document_pages()
    yield from rule_pages()
    yield from directive_pages()
    yield from command_pages()
    yield "SUMMARY.md", navigation(REFERENCE)


def write(directory: Path) -> None:
    """Write pages and pictures below *directory*."""
    shutil.rmtree(directory, ignore_errors=True)
    for name, text in site_pages():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            raise ValueError(f"two pages have the name {name}")
        path.write_text(text, encoding="utf-8")
    for source, page in pages().items():
        if page.endswith(PICTURES):
            shutil.copyfile(ROOT / source, directory / page)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
