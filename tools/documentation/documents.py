"""The documents of the repository as pages of the site, and its navigation, which docs/README.md has."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tools.documentation.markdown import LINK, Places, converted

ROOT: Final = Path(__file__).resolve().parents[2]
INDEX: Final = "docs/README.md"
RULES: Final = "src/whimbrel/upgrade/documents"
PICTURES: Final = (".png", ".svg")
FIXED: Final = {
    "README.md": "index.md",
    INDEX: "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "editors/README.md": "editor-settings.md",
}
"""Files outside docs/ -> pages."""


def pages() -> dict[str, str]:
    """Return the page of each file of the repository that is on the site."""
    found = dict(FIXED)
    for path in sorted((ROOT / "docs").iterdir()):
        if path.suffix in (".md", *PICTURES):
            found.setdefault(f"docs/{path.name}", path.name)
    for path in sorted((ROOT / RULES).glob("[CRX][0-9][0-9]-*.md")):
        found[f"{RULES}/{path.name}"] = f"rules/{path.name[:3].lower()}.md"
    return found


def places() -> Places:
    """Return the places of all files."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return Places(str(ROOT), pages(), project["urls"]["Repository"], title_of)


def document_pages() -> Iterator[tuple[str, str]]:
    """Yield page and text of each document that is not made from code."""
    where = places()
    for source, page in pages().items():
        if page.endswith(".md") and source != INDEX and not source.startswith(RULES):
            text = (ROOT / source).read_text(encoding="utf-8")
            yield page, converted(text, where.links(source))


def title_of(source: str) -> str:
    """Return the heading of a document."""
    text = (ROOT / source).read_text(encoding="utf-8")
    heading = re.search(r"^# (.+)$", text, re.M)
    return heading[1].replace("`", "") if heading else source


def sections() -> Iterator[tuple[str, list[str]]]:
    """Yield title and documents of each part of docs/README.md."""
    text = (ROOT / INDEX).read_text(encoding="utf-8")
    for part in re.split(r"^## ", text, flags=re.M)[1:]:
        title, _, body = part.partition("\n")
        cells = [line.split("|")[1] for line in body.splitlines() if line.startswith("| [")]
        names = [link[3] for cell in cells for link in LINK.finditer(cell)]
        yield title, [str((ROOT / "docs" / name).resolve().relative_to(ROOT)) for name in names]


def navigation(further: dict[str, list[tuple[str, str]]]) -> str:
    """Return the navigation as a list of links; the parts of *further* come before the last."""
    own = pages()
    parts = {title: [(title_of(path), own[path]) for path in paths] for title, paths in sections()}
    last = parts.popitem()
    lines = ["* [Whimbrel](index.md)"]
    for title, entries in (*parts.items(), *further.items(), last):
        lines.append(f"* {title}")
        lines += [f"    * [{name}]({page})" for name, page in entries]
    return "\n".join(lines) + "\n"
