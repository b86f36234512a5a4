"""Reports about single files that options name."""

from __future__ import annotations

from pathlib import Path

from whimbrel.cli.check_files import findings_by_file
from whimbrel.report.entries import entry_of
from whimbrel.report.model import Report


def files_report(paths_by_option: dict[str, Path]) -> Report:
    """Report the findings on the files that *given* names; raise UsageError for a missing file."""
    report = Report()
    for path, findings in findings_by_file(paths_by_option):
        report.files.append(path)
        report.entries += [entry_of(finding) for finding in findings]
    return report
