"""SARIF 2.1.0 (OASIS) of a report: results with their rules, and with fixes where a change stands alone.

Lines and columns count the bytes of the files, as the texts do (iso-8859-1).
"""

from __future__ import annotations

import json
import re
from typing import Any, Final
from urllib.parse import quote

from whimbrel import __version__
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.product import REPOSITORY
from whimbrel.report.model import Report, ReportEntry, title_of
from whimbrel.upgrade.model import Risk

LEVELS: Final = {
    Risk.BREAKS: "error",
    Risk.OPENS: "error",
    Risk.CLOSES: "error",
    Risk.CHANGES: "warning",
    Risk.COSMETIC: "note",
}
DOCUMENTS: Final = f"{REPOSITORY}/blob/v{__version__}/src/whimbrel/upgrade/documents"
"""Where the documents of the rules can be read."""
SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def render(report: Report) -> str:
    """Return one run: rules are listed once, results refer to them by index."""
    rules = sorted({entry.rule for entry in report.entries})
    driver = {
        "name": "whimbrel",
        "version": __version__,
        "semanticVersion": __version__,
        "informationUri": REPOSITORY,
        "rules": [_rule(report, number) for number in rules],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "defaultEncoding": "iso-8859-1",
        "artifacts": [{"location": {"uri": uri(path)}} for path in report.files],
        "results": [_result(entry, rules.index(entry.rule)) for entry in report.entries],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _rule(report: Report, number: str) -> dict[str, Any]:
    title = title_of(report, number)
    rule: dict[str, Any] = {"id": number, "shortDescription": {"text": title}}
    name = report.names.get(number)
    if name is not None:
        rule["name"] = name
    document = report.documents.get(number)
    if document is not None:
        rule["fullDescription"] = {"text": _first_section(document) or title}
        rule["help"] = {"text": _without_examples(document), "markdown": _without_examples(document)}
        rule["helpUri"] = f"{DOCUMENTS}/{_heading_number(document)}-{name}.md"
    return rule


def _heading_number(document: str) -> str:
    """Return the number in the heading, which names the file: one document may be that of several rows."""
    return document.split(maxsplit=2)[1]


def _first_section(document: str) -> str:
    """Return the text below the first subheading, in one line."""
    sections = re.split(r"^## .*\n", document, maxsplit=2, flags=re.M)
    return " ".join(sections[1].split()) if len(sections) > 1 else ""


def _without_examples(document: str) -> str:
    """Return the sections that explain the rule; those with configurations are its tests."""
    sections = re.split(r"^(?=## )", document, flags=re.M)
    return "".join(section for section in sections if "```" not in section).strip()


def _fix(entry: ReportEntry) -> dict[str, Any]:
    """Return the change of all files that an entry names."""
    changes = []
    for path in dict.fromkeys(fix.path for fix in entry.fixes):
        replacements = []
        for fix in entry.fixes:
            if fix.path == path:
                region = {
                    "startLine": fix.start[0],
                    "startColumn": fix.start[1],
                    "endLine": fix.end[0],
                    "endColumn": fix.end[1],
                }
                replacements.append({"deletedRegion": region, "insertedContent": {"text": fix.text}})
        changes.append({"artifactLocation": {"uri": uri(path)}, "replacements": replacements})
    return {"description": {"text": entry.advice or entry.message}, "artifactChanges": changes}


def _result(entry: ReportEntry, rule: int) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": {"uri": uri(entry.path)}}
    if entry.line:
        location["region"] = {"startLine": entry.line}
    text = f"{entry.message}. {entry.advice}." if entry.advice else f"{entry.message}."
    result: dict[str, Any] = {
        "ruleId": entry.rule,
        "ruleIndex": rule,
        "level": LEVELS[entry.risk],
        "message": {"text": text},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"whimbrelLine/v1": fingerprint(entry)},
        "properties": {
            "risk": entry.risk.value,
            "effect": entry.effect,
            "needsReview": entry.needs_review,
            "fixable": entry.is_fixable,
        },
    }
    if entry.fixes:
        result["fixes"] = [_fix(entry)]
    return result


def fingerprint(entry: ReportEntry) -> str:
    """Return a key that line numbers do not change: rule, file and the text of the line."""
    return f"{entry.rule}:{entry.path}:{entry.text}"


def uri(path: str) -> str:
    """Return *path* as a relative or file: URI reference."""
    quoted = quote(to_bytes(path), safe="/~")
    return f"file://{quoted}" if path.startswith("/") else quoted
