"""SARIF 2.1.0 (OASIS) of a report."""

from __future__ import annotations

import json
from typing import Any, Final
from urllib.parse import quote

from whimbrel import __version__
from whimbrel.base.latin1 import to_bytes
from whimbrel.report.model import Report, ReportEntry, title_of
from whimbrel.upgrade.model import Risk

LEVELS: Final = {
    Risk.BREAKS: "error",
    Risk.OPENS: "error",
    Risk.CLOSES: "error",
    Risk.CHANGES: "warning",
    Risk.COSMETIC: "note",
}
SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def render(report: Report) -> str:
    """Return one run: rules are listed once, results refer to them by index."""
    rules = sorted({entry.rule for entry in report.entries})
    driver = {
        "name": "whimbrel",
        "version": __version__,
        "rules": [
            {"id": number, "name": number, "shortDescription": {"text": title_of(report, number)}}
            for number in rules
        ],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "defaultEncoding": "iso-8859-1",
        "artifacts": [{"location": {"uri": uri(path)}} for path in report.files],
        "results": [_result(entry, rules.index(entry.rule)) for entry in report.entries],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _result(entry: ReportEntry, rule: int) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": {"uri": uri(entry.path)}}
    if entry.line:
        location["region"] = {"startLine": entry.line}
    text = f"{entry.message}. {entry.advice}." if entry.advice else f"{entry.message}."
    return {
        "ruleId": entry.rule,
        "ruleIndex": rule,
        "level": LEVELS[entry.risk],
        "message": {"text": text},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"whimbrelLine/v1": fingerprint(entry)},
        "properties": {
            "risk": entry.risk.value,
            "needsReview": entry.needs_review,
            "fixable": entry.is_fixable,
        },
    }


def fingerprint(entry: ReportEntry) -> str:
    """Return a key that line numbers do not change: rule, file and the text of the line."""
    return f"{entry.rule}:{entry.path}:{entry.text}"


def uri(path: str) -> str:
    """Return *path* as a relative or file: URI reference."""
    quoted = quote(to_bytes(path), safe="/~")
    return f"file://{quoted}" if path.startswith("/") else quoted
