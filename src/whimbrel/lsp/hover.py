"""Hover: what a directive, a module or a variable is, in 2.2 and in 2.4."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from lsprotocol.types import Hover, MarkupContent, MarkupKind

from whimbrel.base.numbers import lower
from whimbrel.catalogue import DirectiveEntry, ModuleEntry, catalogue
from whimbrel.catalogue.load import VERSIONS, WHERE
from whimbrel.cli.fmt import spelled
from whimbrel.directives.spec import Args
from whimbrel.lsp.analysis import FileAnalysis
from whimbrel.lsp.cursor import Cursor
from whimbrel.lsp.declarations import MACRO, VARIABLE, declarations, find
from whimbrel.lsp.definitions import variable_at
from whimbrel.lsp.documents import DocumentStore
from whimbrel.lsp.positions import shown
from whimbrel.syntax.spans import name_range
from whimbrel.syntax.tree import Close, Directive, Section
from whimbrel.upgrade.documents.explain import contexts, directive, module, rule_of, third_party

SYNTAX: Final = {
    Args.RAW_ARGS: "",
    Args.TAKE1: "argument",
    Args.TAKE2: "argument argument",
    Args.TAKE3: "argument argument argument",
    Args.TAKE12: "argument [argument]",
    Args.TAKE13: "argument [argument argument]",
    Args.TAKE23: "argument argument [argument]",
    Args.TAKE123: "argument [argument [argument]]",
    Args.TAKE_ARGV: "argument ...",
    Args.ITERATE: "argument [argument] ...",
    Args.ITERATE2: "argument argument [argument] ...",
    Args.FLAG: "On|Off",
    Args.NO_ARGS: "",
}
"""The arguments of each shape."""
OVERRIDES: Final = {
    "OR_AUTHCFG": "AuthConfig",
    "OR_FILEINFO": "FileInfo",
    "OR_INDEXES": "Indexes",
    "OR_LIMIT": "Limit",
    "OR_OPTIONS": "Options",
}
OF_MODULES: Final = ("loadmodule", "ifmodule", "whimbrelignoremodule")
MAX_VALUES: Final = 10
"""Values of one variable that are shown."""


def hover(cursor: Cursor, analysis: FileAnalysis | None, store: DocumentStore) -> Hover | None:
    """Return the description of what is under the cursor, None for nothing that is known."""
    piece = cursor.piece
    name = variable_at(cursor)
    text = ""
    place = None
    if name:
        text = _variable(name, cursor, analysis, store)
    elif isinstance(piece, Directive | Section | Close):
        if cursor.is_on_name:
            key = piece.name if isinstance(piece, Directive) else f"<{piece.name}"
            text = described(key)
            place = cursor.document.lines.range(*name_range(cursor.document.tree, piece))
        else:
            text = _argument(piece, cursor, analysis, store)
    return Hover(MarkupContent(MarkupKind.Markdown, shown(text)), place) if text else None


@lru_cache(maxsize=512)
def described(name: str) -> str:
    """Return the description of a directive (with ``<`` for sections), "" for an unknown one.

    Key: the name as written. Value: Markdown. Valid for ever; the least used of 512 go.
    """
    rows = {version: catalogue(version).find(name) for version in VERSIONS}
    if not any(rows.values()):
        others = third_party(name.removeprefix("<")) if " " not in name else []
        return others[0].body if others else ""
    newest = (rows["2.4"] or rows["2.2"])[0]
    title = spelled(newest.name) or newest.name
    parts = [f"**{title}{'>' if title[:1] == '<' else ''}**", "", newest.help]
    if rows["2.2"] and rows["2.4"] and _facts(rows["2.2"]) == _facts(rows["2.4"]):
        parts += _section("httpd 2.2 and 2.4", rows["2.4"], "2.4")
    else:
        for version, of_version in rows.items():
            parts += _section(f"httpd {version}", of_version, version)
    changes = [rule for row in directive(name)[0].rows if (rule := rule_of(row)) is not None]
    if changes:
        parts += ["", "Changes from 2.2 to 2.4:", ""]
        parts += [f"* {rule.number} {rule.title}" for rule in changes]
    return "\n".join(parts)


def _facts(rows: tuple[DirectiveEntry, ...]) -> list[tuple[object, ...]]:
    return [(row.source, row.args, row.where, row.forbidden_in, row.default) for row in rows]


def _section(title: str, rows: tuple[DirectiveEntry, ...], version: str) -> Iterator[str]:
    """Yield the facts of a version."""
    yield from ("", f"*{title}*", "")
    if not rows:
        yield "There is no such directive."
    for row in rows:
        closing = ">" if row.name[:1] == "<" else ""
        arguments = SYNTAX[Args[row.args]] or ("..." if row.args == Args.RAW_ARGS.name else "")
        yield f"* Syntax: `{f'{spelled(row.name) or row.name} {arguments}'.strip()}{closing}`"
        if row.default:
            yield f"* Default: `{row.default}`"
        yield f"* Context: {', '.join(contexts(row))}"
        overrides = [word for bit, word in OVERRIDES.items() if row.where & WHERE[bit]]
        if overrides:
            yield f"* Override: {', '.join(overrides)}"
        entry = next((one for one in catalogue(version).modules if one.source == row.source), None)
        yield f"* Module: {row.source.removesuffix('.c')}{_status(entry)}"


def _status(entry: ModuleEntry | None) -> str:
    return f" ({entry.kind})" if entry is not None else ""


def _variable(name: str, cursor: Cursor, analysis: FileAnalysis | None, store: DocumentStore) -> str:
    values = [one.value for one in find(declarations(cursor.document, analysis, store), VARIABLE, name)]
    if not values and analysis is not None and analysis.options is not None:
        value = analysis.options.environment.get(name)
        values = [value] if value is not None else []
    if not values:
        return f"`${{{name}}}` has no value here: no Define line and no variable of the service has it"
    return "\n".join(f"`${{{name}}}` = `{value}`  " for value in values[:MAX_VALUES])


def _argument(
    piece: Directive | Section | Close, cursor: Cursor, analysis: FileAnalysis | None, store: DocumentStore
) -> str:
    """Return the description of a module or macro."""
    word = cursor.word()[0].rstrip(">").lstrip("!")
    name = lower(piece.name)
    if name in OF_MODULES:
        found = module(word)
        return found[0].body if found else ""
    if name == "use" and word:
        macros = find(declarations(cursor.document, analysis, store), MACRO, word)
        return "\n".join(f"`<Macro {one.name} {one.value}>`".replace(" >", ">") for one in macros)
    return ""
