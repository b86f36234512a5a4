"""Diagnostics of a document: what is not read, and the findings of the check."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from typing import Final

from lsprotocol.types import CodeDescription, Diagnostic, DiagnosticSeverity, Range

from whimbrel.config.load import DeepRecursion
from whimbrel.lsp.analysis import FileAnalysis
from whimbrel.lsp.cursor import line_range
from whimbrel.lsp.documents import MAX_BYTES, TextDocument, uri_of
from whimbrel.lsp.positions import shown
from whimbrel.lsp.reading_problems import ReadingProblem, reading_problems
from whimbrel.syntax.tree import Directive, Malformed, Node, Section
from whimbrel.upgrade.documents.explain import DIRECTORY, rule_of
from whimbrel.upgrade.model import LOAD_ERROR, READ_ERROR, Finding, Risk

SOURCE: Final = "whimbrel"
SYNTAX: Final = "SYNTAX"
"""The code of lines that no version reads."""
MAX_DIAGNOSTICS: Final = 1000
"""Diagnostics of one document; the worst are sent."""
SEVERITIES: Final = {
    Risk.BREAKS: DiagnosticSeverity.Error,
    Risk.OPENS: DiagnosticSeverity.Error,
    Risk.CLOSES: DiagnosticSeverity.Error,
    Risk.CHANGES: DiagnosticSeverity.Warning,
    Risk.COSMETIC: DiagnosticSeverity.Information,
}
"""Severity by risk, as in the reports for continuous integration."""


def diagnostics(document: TextDocument, analysis: FileAnalysis) -> list[Diagnostic]:
    """Return the diagnostics of *document* in order, for which *analysis* was made."""
    if document.is_too_large:
        text = f"the file has more than {MAX_BYTES >> 20} MB: it is not checked"
        return [Diagnostic(document.lines.range(0, 0), text, DiagnosticSeverity.Warning, source=SOURCE)]
    with DeepRecursion():
        found = list(_reading(document, analysis))
    lines = {one.range.start.line for one in found}
    file = analysis.file_of(document.path)
    findings = analysis.findings.get(file.path, []) if file is not None else []
    nodes = _by_number(document)
    for finding in findings:
        one = _of_finding(document, finding, nodes)
        if finding.rule not in (LOAD_ERROR, READ_ERROR) or one.range.start.line not in lines:
            found.append(one)
    if analysis.problem:
        text = shown(f"not checked: {analysis.problem}")
        found.append(Diagnostic(document.lines.range(0, 0), text, DiagnosticSeverity.Warning, source=SOURCE))
    worst = sorted(found, key=lambda one: one.severity or DiagnosticSeverity.Error)[:MAX_DIAGNOSTICS]
    return sorted(worst, key=lambda one: (one.range.start.line, one.range.start.character))


def _reading(document: TextDocument, analysis: FileAnalysis) -> Iterator[Diagnostic]:
    for problem in reading_problems(document.tree, analysis.kind_of(document)):
        yield Diagnostic(
            _range(document, problem.node),
            shown(_sentence(problem)),
            DiagnosticSeverity.Error if problem.is_certain else DiagnosticSeverity.Warning,
            SYNTAX,
            source=SOURCE,
            data={"name": problem.name} if problem.name else None,
        )


def _sentence(problem: ReadingProblem) -> str:
    return f"{problem.message}; write {problem.name}" if problem.name else problem.message


def _range(document: TextDocument, node: Node | None) -> Range:
    return document.lines.range(*(line_range(document, node) if node is not None else (0, 0)))


def _by_number(document: TextDocument) -> dict[int, Node]:
    """Return the lines of a document by the number that httpd gives them."""
    lines = (node for node in document.tree.walk() if isinstance(node, Directive | Section | Malformed))
    return {node.number: node for node in lines}


def _of_finding(document: TextDocument, finding: Finding, nodes: dict[int, Node]) -> Diagnostic:
    node = nodes.get(finding.place.line)
    if node is not None:
        place = _range(document, node)
    else:
        number = min(max(finding.place.line - 1, 0), len(document.lines.starts) - 1)
        place = document.lines.range(*document.lines.line(number))
    text = f"{finding.message}; {finding.advice}" if finding.advice else finding.message
    href = _document_of(finding.rule)
    return Diagnostic(
        place,
        shown(text),
        SEVERITIES[finding.risk],
        finding.rule,
        CodeDescription(href) if href else None,
        SOURCE,
        data={"line": finding.place.line, "fixable": bool(finding.edits)},
    )


@cache
def _document_of(number: str) -> str:
    """Return the URI of the document of a rule, "" if it has none; one entry for each rule."""
    rule = rule_of(number)
    path = os.path.join(DIRECTORY, f"{rule.number}-{rule.name}.md") if rule is not None else ""
    return uri_of(os.fsencode(path).decode("latin-1")) if path and os.path.isfile(path) else ""
