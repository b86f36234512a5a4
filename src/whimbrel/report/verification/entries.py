"""A verification as a report with entries: for the formats that list findings by file and line."""

from __future__ import annotations

from typing import Final

from whimbrel.base.counts import count_noun
from whimbrel.base.dialect import V22, V24
from whimbrel.report.knowledge import text_lines
from whimbrel.report.model import Report, ReportEntry
from whimbrel.upgrade.knowledge.scope import KnowledgeScope, UnknownItem
from whimbrel.upgrade.knowledge.start_stops import written_place
from whimbrel.upgrade.model import Risk
from whimbrel.verify.answer import DecidingLine
from whimbrel.verify.verification import (
    LINE_OR_CHAIN,
    DifferenceGroup,
    NotDecided,
    Verdict,
    VerifyResult,
    access_sentence,
    risk_of_access,
)

TITLES: Final = {
    "V-ACCESS": "Access control decides differently",
    "V-RESPONSE": "A response differs",
    "V-UNDECIDED": "Not decided",
    "V-LOAD": "The configuration does not load",
}
KINDS: Final = {"access": "access control", "response": "responses", "httpd": "real server"}
"""Words for the kinds of groups."""
WORDS: Final = {
    Verdict.SAME: "same",
    Verdict.DIFFERENT: "different",
    Verdict.DOES_NOT_LOAD: "does not load",
    Verdict.NOT_DECIDED: "not decided",
}


def headline(group: DifferenceGroup) -> str:
    """Return the difference of the first example in one line."""
    if not group.examples:
        return "answers differ"
    example = group.examples[0]
    return f"{example.probe}: {example.difference}"


def decided_note(group: DifferenceGroup) -> str:
    """Return which comments of the new text decide about *group*, behind a semicolon; "" for none."""
    return f"; decided in the text: {', '.join(group.decided)}" if group.decided else ""


def names_of(group: DifferenceGroup, names: tuple[str, str]) -> tuple[str, str]:
    """Return the names of the two answers of *group*, for a verification of sides with *names*."""
    return ("Whimbrel", "the real server") if group.kind == "httpd" else names


def risk_of(group: DifferenceGroup) -> Risk:
    """Return what the difference does; one from a real server says nothing about the upgrade."""
    if group.kind == "httpd":
        return Risk.CHANGES
    return risk_of_access(group)


def report_of(verification: VerifyResult) -> Report:
    """Return the verification as a report; an entry stands at the responsible line of the new side."""
    report = Report(files=list(verification.files), titles=dict(TITLES))
    report.inputs = summary(verification)
    report.scope = verification.scope
    for name, errors in zip(verification.names, verification.errors, strict=True):
        for error in errors:
            path, line = (error.place.path, error.place.line) if error.place is not None else ("", 0)
            report.entries.append(
                ReportEntry("V-LOAD", path, line, f"{name}: {error.text}", risk=Risk.BREAKS)
            )
    report.entries += [_entry(group, verification.names) for group in verification.groups]
    report.entries += [_undecided(one) for one in verification.not_decided]
    report.entries += [_undecided(NotDecided(reason)) for reason in verification.open_reasons]
    report.entries += [_unknown(item) for item in verification.scope.deciding]
    return report


def summary(verification: VerifyResult) -> list[str]:
    """Return the verdict and the counts as sentences."""
    old, new = verification.names
    note = verification.excepted_note
    verdict = verification.verdict
    # the sentence about going live has it
    is_repeated = bool(verification.groups) and verification.dialects == (V22.name, V24.name)
    but = ", but for what is named below" if is_repeated else f", but for {note}"
    but = but if note and verdict is Verdict.SAME else ""
    if verdict is Verdict.NOT_DECIDED and not verification.not_decided and verification.scope.is_complete:
        but = ", though no answer differs"
    lines = [f"{old} and {new}: {WORDS[verdict]}{but}"]
    if not any(verification.errors):
        lines.append(
            f"{count_noun(verification.chains, 'chain')} of sections compared exactly, "
            f"{count_noun(verification.probes, 'request')}: {count_noun(len(verification.groups), 'cause')} "
            f"of {count_noun(verification.differences, 'difference')}, "
            f"{count_noun(len(verification.not_decided), *LINE_OR_CHAIN)} not decided"
        )
    access = access_sentence(verification)
    return [*lines, *([access] if access else []), *verification.limits]


def no_start(verification: VerifyResult) -> str:
    """Return the sentence about all that stops the new server on this machine; "" where nothing does but
    module files that are not here, of which `missing_modules` is.
    """
    if not verification.no_start:
        return ""
    stops = verification.start_stops
    texts = [*stops.line_texts(written_place), *stops.module_texts(written_place)]
    return f"start: {verification.names[1]} does not start here: {'; '.join(texts)}"


def missing_modules(verification: VerifyResult) -> str:
    """Return the sentence about module files that are not on this machine; "" where `no_start` has them."""
    if verification.no_start:
        return ""
    return "".join(f"start: {text}" for text in verification.start_stops.module_texts(written_place))


def unknown(verification: VerifyResult) -> list[str]:
    """Return what is not known as sentences."""
    return list(text_lines(other_facts(verification)))


def other_facts(verification: VerifyResult) -> KnowledgeScope:
    """Return what is not known beside the lines that `no_start` is about."""
    return verification.start_stops.other_facts(verification.scope)


def _entry(group: DifferenceGroup, names: tuple[str, str]) -> ReportEntry:
    place = (*group.cause.new, *group.cause.old, *group.lines[1], *group.lines[0])[:1]
    path, line, text = (place[0].path, place[0].line, place[0].text) if place else ("", 0, "")
    return ReportEntry(
        "V-ACCESS" if group.kind == "access" else "V-RESPONSE",
        path,
        line,
        headline(group) + decided_note(group),
        risk=risk_of(group),
        evidence="\n".join(
            [*_lines(names[0], group.joint_cause.old), *_lines(names[1], group.joint_cause.new)]
        ),
        text=text,
    )


def _lines(name: str, lines: tuple[DecidingLine, ...]) -> list[str]:
    return [f"{name}: {line}" for line in lines]


def _unknown(item: UnknownItem) -> ReportEntry:
    path, line = (item.place.path, item.place.line) if item.place is not None else ("", 0)
    text = f"not decided: {item.kind.value}: {item.subject}"
    return ReportEntry("V-UNDECIDED", path, line, text, item.advice, risk=Risk.CHANGES)


def _undecided(one: NotDecided) -> ReportEntry:
    where = f" ({one.probe})" if one.probe is not None else ""
    return ReportEntry("V-UNDECIDED", "", 0, f"not decided: {one.reason}{where}", risk=Risk.CHANGES)
