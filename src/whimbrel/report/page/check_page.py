"""The page of a check: verdict, counts, access, what is not known, findings by file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from whimbrel.base.counts import count_noun
from whimbrel.report.decisions import (
    MORE_QUESTIONS,
    answer,
    counts_of,
    is_to_decide,
    not_started,
    open_question_texts,
)
from whimbrel.report.formats.text import first_step
from whimbrel.report.model import EFFECT_CLASSES, Report, ReportEntry
from whimbrel.report.page.items import groups, key_of, left_out, word_of, worst
from whimbrel.report.page.model import (
    KEYS,
    REVIEW,
    SAME,
    UNDECIDED,
    Badge,
    Card,
    Cell,
    ReportPage,
    ReportTable,
)
from whimbrel.report.page.texts import Anchors, number, page_questions, page_text
from whimbrel.report.page.unknown import unknown_card, unknown_tables
from whimbrel.upgrade.knowledge.scope import KnowledgeScope
from whimbrel.upgrade.model import Risk

MAX_ACCESS_ROWS: Final = 200
NOTHING_KNOWN: Final = "Nothing in what is known."


def check_page(report: Report) -> ReportPage:
    """Return the page of *report*."""
    entries, others = left_out(report.entries)
    found = groups(entries, Anchors(), report.names)
    return ReportPage(
        "check",
        "From httpd 2.2 to 2.4",
        _badge(report),
        sentence(report),
        page_text(report.directory),
        tuple(page_text(line) for line in (*_facts(report), *report.inputs)),
        risk_cards(report.counted, report.scope),
        (
            *access_tables(entries, found.anchors, not_started(report)),
            *unknown_tables(report.scope, report.directory),
        ),
        groups=found.groups,
        nothing="Nothing to do." if report.scope.is_complete else NOTHING_KNOWN,
        left_out=others,
        first=page_text(first_step(report)),
        next_command=page_text(report.next_command),
        has_rules=True,
        answer=tuple(map(page_text, answer(report))),
        questions=page_questions(open_question_texts(report.counted)),
    )


def _badge(report: Report) -> Badge:
    if report.stop:
        return Badge(page_text(report.stop.partition(": ")[0]), KEYS[Risk.BREAKS])
    findings = [entry for entry in report.counted if not entry.is_note]
    to_review = [entry for entry in findings if entry.needs_review or entry.decision]
    if to_review:
        return Badge("Needs review", KEYS[worst(to_review)])
    if findings and report.scope.is_complete:
        is_compared = counts_of(report.counted).is_compared
        return Badge("Changed by upgrade" if is_compared else "Fixed by upgrade", KEYS[Risk.COSMETIC])
    if not report.scope.is_complete:
        return Badge("Not decided", UNDECIDED)
    return Badge("Nothing to do", SAME)


def sentence(report: Report) -> str:
    """Return the result of a check in one sentence."""
    findings = [entry for entry in report.counted if not entry.is_note]
    text = f"{page_text(report.stop.partition(': ')[2])}; " if report.stop else ""
    text += f"{count_noun(len(findings), 'finding')} in "
    if findings:
        text += f"{number(len({entry.path for entry in findings}))} of "
    text += count_noun(report.counted_files, "file")
    text = "; ".join([text, *counts_of(report.counted).parts])
    unknown = len(report.scope.deciding)
    return f"{text}; {number(unknown)} not decided" if unknown else text


def _facts(report: Report) -> Iterable[str]:
    notes = sum(entry.is_note for entry in report.counted)
    yield f"{count_noun(report.lines, 'line')} read, {count_noun(notes, 'note')} with nothing to do"
    if counts_of(report.counted).is_compared and not report.is_part:
        yield MORE_QUESTIONS
    changed = sum(entry.is_fixable and is_to_decide(entry) for entry in report.counted)
    if changed:
        yield f"whimbrel upgrade changes {number(changed)} of those to decide"
    if report.baselined:
        yield f"{count_noun(report.baselined, 'finding')} of the baseline not shown"
    if report.lone:
        yield report.lone_counts
    with_finding = {entry.path for entry in report.findings}
    with_note = {entry.path for entry in report.entries} - with_finding
    clean = len(set(report.files) - with_finding - with_note)
    if clean:
        of_notes = f", {len(with_note)} with notes alone" if with_note else ""
        yield f"{count_noun(clean, 'file')} without any finding{of_notes}"


def risk_cards(entries: Iterable[ReportEntry], scope: KnowledgeScope, further: int = 0) -> tuple[Card, ...]:
    """Return the counts by risk, and that of what was not decided."""
    counts = dict.fromkeys(EFFECT_CLASSES, 0)
    review = 0
    for entry in entries:
        counts[entry.effect_class] += 1
        review += is_to_decide(entry)
    cards = [
        Card(effect_class.name, count, key_of(effect_class))
        for effect_class, count in counts.items()
        if count or not (effect_class.is_per_request or effect_class.is_unread)
    ]
    return (
        *cards,
        Card("to decide", review, REVIEW),
        unknown_card(scope, further),
    )


def access_tables(
    entries: Sequence[ReportEntry], anchors: Mapping[ReportEntry, str], stop: str = ""
) -> tuple[ReportTable, ...]:
    """Return the table of the findings after which a client gains or loses access; none without one. *stop*:
    which version does not start, "" where 2.4 starts.
    """
    rows = []
    for entry in sorted(entries, key=lambda one: one.risk.rank):
        if entry.risk in (Risk.OPENS, Risk.CLOSES):
            rows.append(
                (
                    Cell(word_of(entry), "chip", KEYS[entry.risk]),
                    Cell(page_text(entry.place), "code", href=anchors.get(entry, "")),
                    Cell(page_text(entry.evidence.partition("\n")[0] or entry.message)),
                )
            )
    if not rows:
        return ()
    state = f"{stop} with this text: after the start is mended, if these lines stay."
    note = (state if stop else "If the text stays as it is.") + (
        f" {number(len(rows) - MAX_ACCESS_ROWS)} more are below." if len(rows) > MAX_ACCESS_ROWS else ""
    )
    columns = ("Risk", "Line", "Example")
    return (ReportTable("Who gains or loses access", columns, tuple(rows[:MAX_ACCESS_ROWS]), "access", note),)
