"""A page for each directive and section of 2.2 and 2.4: what the language server says, from the catalogue."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tools.documentation.documents import ROOT
from tools.documentation.markdown import converted, table

from whimbrel.catalogue import DirectiveEntry, catalogue
from whimbrel.catalogue.load import VERSIONS
from whimbrel.cli.directives import missing
from whimbrel.lsp.hover import described

EFFECTS: Final = ROOT / "tests/meta/without_effect.tsv"
CHANGE: Final = re.compile(r"^\* ([CRX]\d\d) ", re.M)


def page_of(name: str) -> str:
    """Return the page of a directive; a section may have the name of a directive."""
    plain = name.lower().lstrip("<")
    return f"directives/{plain}{'-section' if name[0] == '<' else ''}.md"


def spelled(row: DirectiveEntry) -> str:
    """Return the name as text shows it."""
    return row.name + (">" if row.name[0] == "<" else "")


def without_effect() -> dict[str, str]:
    """Return the reason why a directive has no effect here, by its name."""
    lines = EFFECTS.read_text(encoding="utf-8").splitlines()[1:]
    return {name: reason for _module, name, reason in (line.split("\t") for line in lines)}


def directive_pages() -> Iterator[tuple[str, str]]:
    """Yield page and text of each directive, and the list of all."""
    rows = {row.name.lower(): row for version in VERSIONS for row in catalogue(version)}
    effects = without_effect()
    absent = {version: {one.directive for one in missing(version)} for version in VERSIONS}
    for row in rows.values():
        title, _, text = described(row.name).partition("\n")
        text = CHANGE.sub(lambda m: f"* [{m[1]}](../rules/{m[1].lower()}.md) ", text)
        without = [version for version in VERSIONS if row.name in absent[version]]
        if without:
            text += f"\n\nWhimbrel checks it and has no behaviour for it in {' and '.join(without)}.\n"
        if row.name in effects:
            text += f"\n\nWhimbrel checks it, without a further effect: {effects[row.name]}.\n"
        yield page_of(row.name), converted(f"# {title.strip('*')}\n{text}\n\n[All directives](index.md)\n")
    yield "directives/index.md", converted(_index(rows))


def _index(rows: dict[str, DirectiveEntry]) -> str:
    """Return the list of all directives by module and version."""
    head = (
        "# Directives\n\nEvery directive and section of httpd 2.2 and 2.4. The pages have syntax, default, "
        "context and module in both versions, and the changes between them, as `whimbrel lsp` shows them "
        "in an editor and `whimbrel explain NAME` in a terminal.\n\n"
    )
    lines = []
    for key in sorted(rows, key=lambda name: name.lstrip("<")):
        row = rows[key]
        modules = [_modules(version, key) for version in VERSIONS]
        lines.append((f"[`{spelled(row)}`]({page_of(row.name).partition('/')[2]})", *modules))
    return head + table(("directive", "module in 2.2", "module in 2.4"), lines)


def _modules(version: str, name: str) -> str:
    return ", ".join(row.source.removesuffix(".c") for row in catalogue(version).find(name)) or "none"
