"""Completion of arguments: fixed words, modules, handlers, variables, macros and files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from lsprotocol.types import CompletionItemKind

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import is_blank, split
from whimbrel.catalogue import catalogue
from whimbrel.catalogue.argument_words import argument_words
from whimbrel.catalogue.handlers import handler_table
from whimbrel.catalogue.load import VERSIONS
from whimbrel.directives.spec import Args
from whimbrel.lsp.analysis import FileAnalysis
from whimbrel.lsp.cursor import Cursor
from whimbrel.lsp.declarations import MACRO, VARIABLE, declarations
from whimbrel.lsp.documents import DocumentStore
from whimbrel.lsp.paths import OF_FILES, SECOND, absolute, entries, expanded

SIGNED: Final = frozenset(("options", "indexoptions", "ssloptions", "sslprotocol"))
"""Directives whose words may have a sign."""
OF_HANDLERS: Final = frozenset(("sethandler", "addhandler"))
OF_DEFINES: Final = frozenset(("<ifdefine", "undefine"))
FLAG_WORDS: Final = ("On", "Off")


@dataclass(frozen=True, slots=True)
class Proposal:
    """One text that may be written; *order* sorts before the text."""

    text: str
    kind: CompletionItemKind
    detail: str = ""
    order: str = "5"


def proposals(
    cursor: Cursor, name: str, before: str, analysis: FileAnalysis | None, store: DocumentStore
) -> Iterator[tuple[int, Proposal]]:
    """Yield the arguments of the directive *name* (lower case), each with the number of bytes before the
    cursor that it replaces."""
    variable = _open_variable(before)
    if variable is not None:
        for one in _variables(cursor, analysis, store):
            if one.text.startswith(variable):
                yield len(variable), one
        return
    word = _last_word(before)
    number = len(split(before[: len(before) - len(word)].replace('"', "")))
    if name in OF_FILES and (number == 2 if name in SECOND else number >= 1):
        yield from _files(cursor, name, word, analysis, store)
        if name != "loadmodule":
            return
    sign = word[:1] if word[:1] in ("+", "-") and name in SIGNED else ""
    typed = word[len(sign) :]
    for one in _words(cursor, name, number, analysis, store):
        if one.text.lower().startswith(typed.lower()):
            yield len(typed), one


def _open_variable(before: str) -> str | None:
    """Return what is written of a name behind ``${``, None without one."""
    _head, mark, name = before.rpartition("${")
    return name if mark and "}" not in name and not any(map(is_blank, name)) else None


def _last_word(before: str) -> str:
    """Return the argument that ends at the cursor, without its quote."""
    if before.count('"') % 2:
        return before.rpartition('"')[2]
    words = split(before)
    return "" if not words or is_blank(before[-1:]) or before[-1:] == '"' else words[-1]


def _words(
    cursor: Cursor, name: str, number: int, analysis: FileAnalysis | None, store: DocumentStore
) -> Iterator[Proposal]:
    rows = [row for version in VERSIONS for row in catalogue(version).find(name)]
    fixed = argument_words().get(name)
    if fixed is not None:
        for text, version in fixed:
            detail = f"{version} alone" if version else ""
            yield Proposal(text, CompletionItemKind.EnumMember, detail, "2" if version == "2.2" else "1")
    elif rows and rows[-1].args == Args.FLAG.name:
        yield from (Proposal(text, CompletionItemKind.EnumMember) for text in FLAG_WORDS)
    if name in ("loadmodule", "<ifmodule"):
        yield from _modules(name, number)
    elif name in OF_HANDLERS and number == 1:
        names = {handler for version in VERSIONS for handler in handler_table(version)}
        yield from (Proposal(text, CompletionItemKind.Value) for text in sorted(names) if "*" not in text)
    elif name in OF_DEFINES:
        yield from _variables(cursor, analysis, store)
    elif name == "use" and number == 1:
        for one in declarations(cursor.document, analysis, store):
            if one.kind == MACRO:
                yield Proposal(one.name, CompletionItemKind.Function, one.value)


def _modules(name: str, number: int) -> Iterator[Proposal]:
    """Yield identifiers and files for LoadModule, source files and identifiers for <IfModule>."""
    for identifier, file, source, versions in _known_modules():
        detail = f"{versions} alone" if versions in VERSIONS else ""
        if name == "<ifmodule":
            yield Proposal(source, CompletionItemKind.Module, detail, "1")
            if number == 1:
                yield Proposal(identifier, CompletionItemKind.Module, detail, "3")
        elif number == 1:
            yield Proposal(identifier, CompletionItemKind.Module, detail)
        else:
            yield Proposal(f"modules/{file}.so", CompletionItemKind.File, detail)


def _known_modules() -> Iterable[tuple[str, str, str, str]]:
    """Return identifier, file and source of each module, with its versions between blanks."""
    found: dict[tuple[str, str, str], str] = {}
    for version in VERSIONS:
        for one in catalogue(version).modules:
            key = one.identifier, one.file, one.source
            found[key] = f"{found.get(key, '')} {version}".strip()
    return [(*key, versions) for key, versions in found.items()]


def _variables(cursor: Cursor, analysis: FileAnalysis | None, store: DocumentStore) -> Iterator[Proposal]:
    """Yield the names that Define lines and the environment of the service give."""
    known = {}
    if analysis is not None and analysis.options is not None:
        known.update(dict.fromkeys(analysis.options.defines, ""))
        known.update(
            (name, value)
            for name, value in analysis.options.environment.items()
            if name.startswith("APACHE_")
        )
    for one in declarations(cursor.document, analysis, store):
        if one.kind == VARIABLE:
            known[one.name] = one.value
    yield from (Proposal(name, CompletionItemKind.Variable, value) for name, value in known.items())


def _files(
    cursor: Cursor, name: str, word: str, analysis: FileAnalysis | None, store: DocumentStore
) -> Iterator[tuple[int, Proposal]]:
    """Yield the entries of the directory that *word* begins to name."""
    known = {
        one.name: one.value
        for one in (declarations(cursor.document, analysis, store) if "${" in word else ())
        if one.kind == VARIABLE
    }
    directory, slash, beginning = word.rpartition("/")
    place = absolute(expanded(directory + slash, known.get) or "./", cursor.document, analysis)
    for entry, is_directory in entries(place, beginning):
        kind = CompletionItemKind.Folder if is_directory else CompletionItemKind.File
        yield len(beginning), Proposal(f"{entry}/" if is_directory else entry, kind)
