"""JSON of a report: the keys are part of the public interface (CHANGELOG.md)."""

from __future__ import annotations

import json
from typing import Any

from whimbrel.report.decisions import counts_as_json, open_questions
from whimbrel.report.knowledge import as_json
from whimbrel.report.model import Report, ReportEntry


def render(report: Report) -> str:
    """Return one JSON object; bytes beyond ASCII are decoded as Latin-1."""
    return (
        json.dumps(
            {
                "input": [*filter(None, [report.stop]), *report.inputs],
                "stop": report.stop,
                "to_decide": [
                    {
                        "rule": one.rule,
                        "places": list(one.places),
                        "question": one.text,
                        "answers": list(one.answers),
                    }
                    for one in open_questions(report.entries)
                ],
                "counts": counts_as_json(report.counted),
                "next": report.next_command,
                "files": report.files,
                "lines": report.lines,
                "baselined": report.baselined,
                "lone_files": report.lone,
                "risks": {risk.value: count for risk, count in report.by_risk().items()},
                "rules": report.by_rule(),
                "knowledge": as_json(report.scope, report.directory),
                "findings": [_entry(entry) for entry in report.entries],
            },
            indent=1,
        )
        + "\n"
    )


def _entry(entry: ReportEntry) -> dict[str, Any]:
    return {
        "rule": entry.rule,
        "file": entry.path,
        "line": entry.line,
        "included_from": entry.via or None,
        "message": entry.message,
        "advice": entry.advice,
        "risk": entry.risk.value,
        "effect": entry.effect,
        "note": entry.is_note,
        "needs_review": entry.needs_review,
        "fixable": entry.is_fixable,
        "evidence": entry.evidence,
        "text": entry.text,
        "old": [{"line": number, "text": text} for number, text in entry.old],
        "new": list(entry.new),
        "decision": entry.decision,
        "lone_file": entry.is_lone,
    }
