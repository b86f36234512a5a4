"""Baselines: accepted findings, which a later check leaves out.

The key of a finding is its rule, its file and the text of its line, so a moved line still matches. Equal
findings match as often as the baseline counts them.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

from whimbrel.base.file_reading import read_regular
from whimbrel.base.file_writing import write_named
from whimbrel.report.model import Report, ReportEntry, read_errors
from whimbrel.upgrade.knowledge.scope import KnowledgeScope

BaselineKey = tuple[str, str, str]


class BadBaseline(Exception):
    """File that is not a baseline."""


def save(report: Report, path: Path) -> None:
    """Write the report's findings and notes to *path*; raises OSError."""
    counts = Counter(map(_key, report.entries))
    rows = [
        {"rule": rule, "file": file, "text": text, "count": count}
        for (rule, file, text), count in sorted(counts.items())
    ]
    document = json.dumps({"whimbrel-baseline": 1, "findings": rows}, indent=1) + "\n"
    write_named(os.fsencode(path), document.encode())


def load(path: Path) -> Counter[BaselineKey]:
    """Return the count of each finding; raises BadBaseline and OSError."""
    try:
        document: dict[str, Any] = json.loads(read_regular(os.fsencode(path)))
        if document["whimbrel-baseline"] != 1:
            raise BadBaseline(f"{path} is a baseline of another version")
        return Counter(
            {(row["rule"], row["file"], row["text"]): int(row["count"]) for row in document["findings"]}
        )
    except (ValueError, KeyError, TypeError):
        raise BadBaseline(f"{path} is no baseline") from None


def remove_baselined(report: Report, baseline: Counter[BaselineKey]) -> None:
    """Remove the entries of *baseline* from *report*, and from its scope the unread parts that they name."""
    remaining = Counter(baseline)
    new_entries = []
    for entry in report.entries:
        if remaining[_key(entry)] > 0:
            remaining[_key(entry)] -= 1
        else:
            new_entries.append(entry)
    report.baselined += len(report.entries) - len(new_entries)
    accepted = read_errors(report.entries) - read_errors(new_entries)
    items = tuple(item for item in report.scope.items if item.subject not in accepted)
    report.scope = KnowledgeScope(report.scope.files_read, items)
    report.entries = new_entries


def _key(entry: ReportEntry) -> BaselineKey:
    return entry.rule, entry.path, entry.text
