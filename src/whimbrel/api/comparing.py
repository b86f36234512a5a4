"""Comparisons of two configurations, as values of the public API."""

from __future__ import annotations

from whimbrel.api.answering import load_error, options_of
from whimbrel.api.checking import open_findings
from whimbrel.api.conversion import deciding_lines_of, text_of, unknown_of
from whimbrel.api.named_files import NamedInput
from whimbrel.api.verdicts import Difference, Verdict
from whimbrel.base.dialect import V22, V24
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.config.options import LoadOptions
from whimbrel.explain.shown_requests import note_shown_requests
from whimbrel.report.verification.entries import risk_of
from whimbrel.verify.copied_htaccess import with_copied_htaccess
from whimbrel.verify.loading import load_sides
from whimbrel.verify.recorded_decisions import mark_decided
from whimbrel.verify.same_documents import as_copies
from whimbrel.verify.verification import DifferenceGroup, VerifyResult
from whimbrel.verify.verify import ReportProgress, verify


def compare_inputs(
    named: tuple[NamedInput, NamedInput], dialects: tuple[str, str], limit: int | None
) -> Verdict:
    """Return the comparison of two named inputs; raises ConfigurationError."""
    options = options_of(named[0]), options_of(named[1])
    result = compare_options(options, dialects, limit)
    for side, errors in zip(options, result.errors, strict=True):
        if errors:
            raise load_error(side, errors[0])
    return Verdict(
        tuple(map(_difference, result.groups)),
        tuple(map(text_of, (*(one.reason for one in result.not_decided), *result.open_reasons))),
        result.probes,
        unknown_of(result.scope),
    )


def compare_options(
    options: tuple[LoadOptions, LoadOptions],
    dialects: tuple[str, str],
    limit: int | None = None,
    report_progress: ReportProgress = lambda _what, _done, _all: None,
) -> VerifyResult:
    """Return the comparison of two configurations under two dialects; of a text of 2.2 with one of 2.4 also
    what the new one leaves to a person.
    """
    old, new = options
    names = f"old ({dialects[0]})", f"new ({dialects[1]})"
    *both, documents = as_copies(old, new, dialects[0])
    sides = load_sides((both[0], both[1]), dialects, names)
    result = verify(*sides, report_progress=report_progress, limit=limit)
    result.documents = documents
    result.image = both[1].image
    if dialects == (V22.name, V24.name) and not any(result.errors):
        report_progress("findings about the new text", 0, 0)
        found = with_copied_htaccess(old, new)
        _add_open_findings(result, replace(found, is_copy=both[1].is_copy, copied=both[1].copied))
    note_shown_requests(result, sides)
    return result


def _add_open_findings(result: VerifyResult, options: LoadOptions) -> None:
    """Put into *result* what the findings about the new text leave to a person, and what its comments
    decide.
    """
    found = open_findings(options)
    result.to_decide = found.to_decide
    result.questions = found.questions
    result.has_stop = found.has_stop
    result.open_access = found.open_access
    result.scope = result.scope.with_items(found.unknown)
    mark_decided(result, found.recorded)


def _difference(group: DifferenceGroup) -> Difference:
    example = group.examples[0] if group.examples else None
    return Difference(
        group.kind,
        risk_of(group).value,
        group.count,
        text_of(str(example.probe)) if example is not None else "",
        text_of(str(example.difference)) if example is not None else "answers differ",
        deciding_lines_of((*group.joint_cause.old, *group.lines[0])),
        deciding_lines_of((*group.joint_cause.new, *group.lines[1])),
        tuple(map(text_of, group.decided)),
    )
