"""Quick fixes: the edits of the upgrade rules, the right spelling of a name, a comment that keeps a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from lsprotocol.types import CodeAction, CodeActionKind, Diagnostic, Range, TextEdit, WorkspaceEdit

from whimbrel.base.latin1 import to_text
from whimbrel.lsp.analysis import FileAnalysis, fixed_files
from whimbrel.lsp.cursor import cursor_at
from whimbrel.lsp.diagnostics import SYNTAX
from whimbrel.lsp.documents import DocumentStore, TextDocument, uri_of
from whimbrel.lsp.positions import shown
from whimbrel.lsp.text_edits import edits_to
from whimbrel.syntax.spans import name_range
from whimbrel.syntax.tree import Directive, Section
from whimbrel.upgrade.documents.explain import rule_of

MAX_FIXES: Final = 20
"""Diagnostics of one request that get fixes: each runs a rule."""


def quick_fixes(
    document: TextDocument,
    published: Iterable[Diagnostic],
    wanted: Range,
    analysis: FileAnalysis | None,
    store: DocumentStore,
) -> list[CodeAction]:
    """Return the fixes of the published diagnostics that touch the range *wanted*.

    Edits of rules are offered while the open documents are those that were checked.
    """
    touched = [one for one in published if _touches(one.range, wanted)][:MAX_FIXES]
    actions: list[CodeAction] = []
    suppressions: list[CodeAction] = []
    is_current = analysis is not None and _is_current(analysis, store)
    rule_actions: dict[str, CodeAction] = {}
    for one in touched:
        data = one.data if isinstance(one.data, dict) else {}
        code = str(one.code)
        if code == SYNTAX:
            actions += _spelling(document, one, str(data.get("name", "")))
            continue
        line = data.get("line", 0)
        if analysis is not None and is_current and data.get("fixable"):
            actions += _of_rule(document, one, code, line, analysis, store)
            if code not in rule_actions:
                for action in _of_rule(document, one, code, None, analysis, store):
                    rule_actions[code] = action
        if rule_of(code) is not None:
            suppressions.append(_suppression(document, one, code))
    return [*actions, *rule_actions.values(), *suppressions]


def _is_current(analysis: FileAnalysis, store: DocumentStore) -> bool:
    """Return True if no open document differs from the text that was checked."""
    files = analysis.tree.files if analysis.tree is not None else {}
    return all(
        path not in files or files[path].document.bytes == data for path, data in store.overlay().items()
    )


def _touches(one: Range, other: Range) -> bool:
    return one.start.line <= other.end.line and other.start.line <= one.end.line


def _spelling(document: TextDocument, one: Diagnostic, name: str) -> Iterator[CodeAction]:
    """Yield the fix of an unknown name that is close to a known one."""
    piece = cursor_at(document, document.lines.offset(one.range.start)).piece
    if not name or not isinstance(piece, Directive | Section):
        return
    edits = [(name_range(document.tree, piece), name)]
    if isinstance(piece, Section) and piece.close is not None:
        edits.append((name_range(document.tree, piece.close), f"</{name[1:]}>"))
    texts = [TextEdit(document.lines.range(*place), text) for place, text in edits]
    yield _action(f"Write {name}", one, {document.uri: texts}, is_preferred=True)


def _of_rule(
    document: TextDocument,
    one: Diagnostic,
    code: str,
    line: int | None,
    analysis: FileAnalysis,
    store: DocumentStore,
) -> Iterator[CodeAction]:
    """Yield the action with the edits of a rule: those for *line*, or all of them."""
    file = analysis.file_of(document.path)
    files = fixed_files(analysis, code, file.path if file is not None else document.path, line)
    changes = {}
    for path, data in files.items():
        target = document if file is not None and path == file.path else store.at(path)
        edits = edits_to(target, data)
        if edits:
            changes[target.uri if target.version is not None else uri_of(path)] = edits
    if not changes:
        return
    rule = rule_of(code)
    title = f"{code}: {rule.title}" if rule is not None else code
    text = f"Upgrade to 2.4 ({title})" if line is not None else f"Upgrade all of {title}"
    yield _action(shown(text), one, changes, is_preferred=line is not None)


def _suppression(document: TextDocument, one: Diagnostic, code: str) -> CodeAction:
    """Return the action that exempts a line from a rule by a comment above it."""
    start = document.lines.starts[one.range.start.line]
    line = to_text(document.data[start : start + 200])
    indent = line[: len(line) - len(line.lstrip(" \t"))]
    edit = TextEdit(document.lines.range(start, start), f"{indent}# whimbrel: ignore[{code}]\n")
    return _action(f"Ignore {code} here", one, {document.uri: [edit]}, is_preferred=False)


def _action(
    title: str, one: Diagnostic, changes: dict[str, list[TextEdit]], *, is_preferred: bool
) -> CodeAction:
    return CodeAction(
        title,
        CodeActionKind.QuickFix,
        [one],
        is_preferred=is_preferred or None,
        edit=WorkspaceEdit(changes={uri: list(edits) for uri, edits in changes.items()}),
    )
