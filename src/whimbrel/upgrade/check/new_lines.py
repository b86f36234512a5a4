"""Lines of files without their server that 2.2 refuses and 2.4 reads: new arguments, flags and sections.

A text with such a line comes from no running 2.2, so its answers under 2.2 are those of no request: X22 names
the first line of each file, unless an upgrade wrote it. The rule itself finds those of .htaccess files
below a server.
"""

from __future__ import annotations

from typing import Final

from whimbrel.base.dialect import V22
from whimbrel.base.errors import SourceLocation
from whimbrel.catalogue import catalogue
from whimbrel.upgrade.apply.written_texts import is_written_by_upgrade
from whimbrel.upgrade.check.fixpoint import UpgradeResult
from whimbrel.upgrade.check.loading import (
    LoadedTexts,
    RefusedLine,
    is_of_damaged_text,
    is_of_this_machine,
)
from whimbrel.upgrade.check.lone_files import lone_problems
from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.source.config_tree import Role

NUMBER: Final = "X22"


def add_new_lines(result: UpgradeResult) -> None:
    """Add a finding for each file of which 2.2 refuses a line that 2.4 reads."""
    refused_24 = {
        (finding.place.path, finding.place.line)
        for finding in result.findings
        if finding.needs_review and finding.risk is Risk.BREAKS
    }
    done = {finding.place.path for finding in result.findings if finding.rule == NUMBER}
    texts = LoadedTexts(result.tree, {}, V22)
    for problem in lone_problems(texts):
        place = problem.place
        if place is None or place.path in done or (place.path, place.line) in refused_24:
            continue
        if is_of_this_machine(texts, problem) or is_of_damaged_text(result.tree, place.path):
            continue
        if not problem.name or catalogue("2.4").find(problem.name.lower()):
            done.add(place.path)
            # the journal of what an upgrade wrote has what it left to decide
            if not is_written_by_upgrade(place.path, result.tree.root):
                result.findings = [*result.findings, _finding(result, place, problem)]


def _finding(result: UpgradeResult, place: SourceLocation, problem: RefusedLine) -> Finding:
    if result.tree.files[place.path].role is Role.HTACCESS:
        effect = "2.2 answers 500 to every request for the directory"
        risk = Risk.OPENS
        advice = "make sure that the directory may be served"
    else:
        effect = "2.2 does not start"
        risk = Risk.CHANGES
        advice = "do nothing if the file is for 2.4 already; else find out which file the old server reads"
    # the rest of the message takes the name for a misspelled one, which 2.4 has
    reason = problem.text.partition(", perhaps misspelled")[0]
    message = f"{effect} with this line, which 2.4 reads: {reason}"
    return Finding(NUMBER, SourceLocation(place.path, place.line), message, advice, risk)
