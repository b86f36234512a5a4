"""JUnit XML of a report."""

from __future__ import annotations

from itertools import groupby
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from whimbrel.base.printable import printable_line
from whimbrel.report.model import Report, ReportEntry, sorted_entries

_FORBIDDEN: Final = {code: "?" for code in [*range(32), 0x7F] if code not in (9, 10, 13)}


def render(report: Report) -> str:
    """Return a test suite for each file.

    A finding is a failed test, a note a passed test with output, a file without entries one passed test.
    """
    entries_by_path = {
        path: list(group)
        for path, group in groupby(sorted_entries(report.entries), key=lambda entry: entry.path)
    }
    suites = [
        _suite(path, entries_by_path.get(path, []))
        for path in dict.fromkeys([*report.files, *entries_by_path])
    ]
    tests = sum(
        max(1, len(entries_by_path.get(path, [])))
        for path in dict.fromkeys([*report.files, *entries_by_path])
    )
    head = f'<testsuites name="whimbrel check" tests="{tests}" failures="{len(report.findings)}" errors="0">'
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *suites, "</testsuites>"]) + "\n"


def _suite(path: str, entries: list[ReportEntry]) -> str:
    failures = sum(not entry.is_note for entry in entries)
    cases = [_case(entry) for entry in entries] or [
        f"  <testcase name={_attribute('no findings')} classname={_attribute(path)}/>"
    ]
    counts = f'tests="{len(cases)}" failures="{failures}" errors="0" skipped="0"'
    head = f"<testsuite name={_attribute(path)} {counts}>"
    return "\n".join([head, *cases, "</testsuite>"])


def _case(entry: ReportEntry) -> str:
    name = _attribute(f"{entry.rule} line {entry.line}")
    inner = f"<system-out>{_text(printable_line(entry.message))}</system-out>"
    if not entry.is_note:
        further = entry.advice, entry.evidence
        body = "\n".join(
            line for line in (printable_line(f"{entry.path}:{entry.line}: {entry.message}"), *further) if line
        )
        kind = f"type={_attribute(entry.effect)} message={_attribute(entry.message)}"
        inner = f"<failure {kind}>{_text(body)}</failure>"
    path = _attribute(entry.path)
    return f'  <testcase name={name} classname={path} file={path} line="{entry.line}">{inner}</testcase>'


def _text(text: str) -> str:
    return escape(text.translate(_FORBIDDEN))


def _attribute(text: str) -> str:
    return quoteattr(text.translate(_FORBIDDEN))
