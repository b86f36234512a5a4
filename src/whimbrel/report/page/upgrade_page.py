"""The page of an upgrade: what it changes, what needs review, who gains or loses access."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from whimbrel.base.counts import count_noun
from whimbrel.report.decisions import is_to_decide
from whimbrel.report.entries import entry_of
from whimbrel.report.model import ReportEntry
from whimbrel.report.page.access_table import access_table
from whimbrel.report.page.check_page import NOTHING_KNOWN, risk_cards
from whimbrel.report.page.hunks import MAX_PAIRS, FileHunks, change_of
from whimbrel.report.page.items import groups, left_out, worst
from whimbrel.report.page.model import KEYS, SAME, UNDECIDED, Badge, Hunk, ReportPage
from whimbrel.report.page.texts import Anchors, number, page_questions, page_text
from whimbrel.report.page.unknown import start_cards, unknown_tables
from whimbrel.report.questions import QuestionText
from whimbrel.report.start_line import stops_of
from whimbrel.report.written_lines import access_places
from whimbrel.upgrade.check.check import source_lines
from whimbrel.upgrade.check.fixpoint import UpgradeResult
from whimbrel.upgrade.edits.diff import display_path
from whimbrel.upgrade.model import Risk
from whimbrel.upgrade.rules import rule_names
from whimbrel.upgrade.source.reading import described


def upgrade_page(
    result: UpgradeResult,
    directory: str,
    diffs: Mapping[str, bytes],
    *,
    is_written: bool,
    answer: Iterable[str] = (),
    questions: Iterable[QuestionText] = (),
    facts: Iterable[str] = (),
    first: str = "",
    next_command: str = "",
) -> ReportPage:
    """Return the page of *result*; *diffs* are unified diffs by path, *answer* and *facts* sentences about
    it, such as that of the comparison of answers, *questions* what is to decide, *first* what to do before
    *next_command*.
    """
    entries = _entries(result, directory)
    stops = stops_of(result)
    shown, others = left_out(entries)
    changes = {display_path(path, directory): change_of(diff) for path, diff in diffs.items()}
    numbers = {path: change.numbers for path, change in changes.items()}
    found = groups(shown, Anchors(), rule_names(), numbers, dict(_hunks(changes)))
    sentences = (*described(result.tree, is_upgraded=True), *filter(None, facts))
    places: dict[tuple[str, int], str] = {}
    for entry in sorted(found.anchors, key=_distance_of_access):
        places.setdefault((entry.path, entry.line), found.anchors[entry])
    note = (
        "Requests that were sent to both versions, the old text under 2.2 and the new one under 2.4. "
        "The line decides the answer of 2.4; its number is that of the old text, where it takes a place."
    )
    return ReportPage(
        "upgrade",
        "From httpd 2.2 to 2.4",
        _badge(result, entries),
        _sentence(result, entries, is_written),
        page_text(directory),
        tuple(map(page_text, sentences)),
        (*start_cards(stops), *risk_cards(entries, result.scope)),
        (
            *access_table(access_places(result, is_written=False), directory, places, note),
            *unknown_tables(stops.other_facts(result.scope), directory),
        ),
        groups=found.groups,
        groups_title="Changes and findings",
        nothing="Nothing to change." if result.scope.is_complete else NOTHING_KNOWN,
        left_out=others,
        first=page_text(first),
        next_command=page_text(next_command),
        has_rules=True,
        answer=tuple(map(page_text, filter(None, answer))),
        questions=page_questions(questions),
    )


def _distance_of_access(entry: ReportEntry) -> tuple[bool, bool, int]:
    """Return what sorts the findings of a line: those first that a person must look at as access differs."""
    is_of_access = entry.risk in (Risk.OPENS, Risk.CLOSES)
    return not is_of_access, not is_to_decide(entry), entry.risk.rank


def _entries(result: UpgradeResult, directory: str) -> list[ReportEntry]:
    texts = source_lines(result.tree, result.findings)
    entries = []
    for finding in result.findings:
        entries.append(entry_of(finding, directory, texts))
    return list(dict.fromkeys(entries))


def _badge(result: UpgradeResult, entries: Iterable[ReportEntry]) -> Badge:
    to_review = [entry for entry in entries if entry.needs_review or entry.decision]
    if to_review:
        more = ", not verified" if result.unverified else ""
        return Badge(f"Needs review{more}", KEYS[worst(to_review)])
    if result.unverified:
        return Badge("Not verified", UNDECIDED)
    if not result.scope.is_complete:
        return Badge("Not decided", UNDECIDED)
    return Badge("Nothing to review" if result.files else "Nothing to change", SAME)


def _sentence(result: UpgradeResult, entries: list[ReportEntry], is_written: bool) -> str:
    changes = sum(entry.is_fixable for entry in entries)
    open_work = sum(map(is_to_decide, entries))
    verb = "in" if is_written else "to make in"
    text = f"{count_noun(changes, 'change')} {verb} {number(len(result.files))} of "
    text += count_noun(len(result.tree.files), "file")
    parts = [
        text,
        f"{number(open_work)} to decide" if open_work else "",
        f"{number(len(result.scope.deciding))} not decided" if result.scope.deciding else "",
    ]
    return "; ".join(filter(None, parts))


def _hunks(
    changes: Mapping[str, FileHunks],
) -> Iterable[tuple[str, tuple[tuple[Hunk, ...], str]]]:
    """Yield the hunks of each changed file with the counts; those that MAX_PAIRS leaves no room for have
    the counts alone.
    """
    size = 0
    for path, change in changes.items():
        if size + change.size <= MAX_PAIRS:
            size += change.size
            yield path, (change.hunks, change.words)
        else:
            yield path, ((), f"{change.words}; --format text prints it")
