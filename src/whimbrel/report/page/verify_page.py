"""The page of a verification: verdict, access that differs, what was not decided, differences by cause."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from whimbrel.base.counts import count_noun
from whimbrel.report.page.access_table import access_table
from whimbrel.report.page.items import plain
from whimbrel.report.page.model import (
    KEYS,
    SAME,
    Badge,
    Card,
    Cell,
    CodeLine,
    CodeSide,
    FindingGroup,
    ReportPage,
    ReportTable,
    ShownFinding,
)
from whimbrel.report.page.model import UNDECIDED as NOT_DECIDED
from whimbrel.report.page.texts import MAX_CODE, Anchors, number, page_questions, page_text
from whimbrel.report.page.unknown import start_cards, unknown_card, unknown_tables
from whimbrel.report.readiness import readiness_of_comparison
from whimbrel.report.verification.entries import (
    KINDS,
    WORDS,
    headline,
    missing_modules,
    names_of,
    no_start,
    other_facts,
    risk_of,
    summary,
)
from whimbrel.upgrade.model import Risk
from whimbrel.verify.answer import DecidingLine
from whimbrel.verify.verification import (
    DifferenceGroup,
    Example,
    NotDecided,
    Verdict,
    VerifyResult,
    access_differences,
    access_sentence,
)

RULES: Final = {"access": "V-ACCESS", "response": "V-RESPONSE", "httpd": "V-HTTPD"}
"""The numbers of the kinds of groups, as in SARIF."""
MAX_GROUPS: Final = 2000
"""Causes of a page; JSON has all."""
OF_VERSIONS: Final = "the versions differ in what these lines do"
ASSUMED: Final = "no file of the configuration has this user at present"


def verify_page(verification: VerifyResult, next_command: str = "", first: str = "") -> ReportPage:
    """Return the page of *verification*; *next_command* is what to run after reading, and *first* what to do
    before it.
    """
    anchors = Anchors()
    shown = verification.groups[:MAX_GROUPS]
    more = len(verification.groups) - len(shown)
    verdict, *rest = summary(verification)
    answer = (
        verification.documents,
        readiness_of_comparison(verification),
        *verification.failures,
        no_start(verification),
        missing_modules(verification),
        access_sentence(verification),
    )
    further = tuple(
        (one.reason, str(one.probe) if one.probe is not None else _place_of(one))
        for one in verification.not_decided
    )
    items = [_item(at, group, verification.names, anchors) for at, group in enumerate(shown, 1)]
    groups = (*_load_errors(verification, anchors), *_groups(shown, items, anchors))
    places = _places(shown, items)
    return ReportPage(
        "verify",
        "Old and new answers",
        _badge(verification),
        page_text(verdict),
        answer=tuple(map(page_text, filter(None, answer))),
        questions=page_questions(verification.questions),
        facts=tuple(page_text(text) for text in rest if text not in answer),
        cards=_cards(verification),
        tables=(
            *access_table(list(access_differences(verification.groups)), places=places),
            *unknown_tables(other_facts(verification), further=further),
        ),
        groups=groups,
        groups_title="Differences by cause",
        first=page_text(first),
        next_command=page_text(next_command),
        noun="cause",
        nothing="No answer differs." if verification.verdict is Verdict.SAME else "None in what was decided.",
        left_out=f"The first {number(len(shown))} causes are shown, {number(more)} more are in --format json."
        if more
        else "",
    )


def _badge(verification: VerifyResult) -> Badge:
    verdict = verification.verdict
    word = WORDS[verdict].capitalize()
    if verdict is Verdict.SAME and any(group.decided for group in verification.groups):
        return Badge("Same, but for what comments decide", KEYS[Risk.COSMETIC])
    if verdict is Verdict.SAME:
        return Badge(word, SAME)
    if verdict is Verdict.NOT_DECIDED:
        has_known = any(group.decided for group in verification.groups)
        return Badge(f"{word}, beside differences that comments decide" if has_known else word, NOT_DECIDED)
    if verdict is Verdict.DOES_NOT_LOAD:
        return Badge(word, KEYS[Risk.BREAKS])
    worst = min(map(risk_of, verification.groups), key=lambda risk: risk.rank)
    return Badge(word, KEYS[worst])


def _cards(verification: VerifyResult) -> tuple[Card, ...]:
    counts = dict.fromkeys(Risk, 0)
    counts[Risk.BREAKS] = sum(map(len, verification.errors))
    decided = sum(bool(group.decided) for group in verification.groups)
    for group in verification.groups:
        if group.decided:
            continue
        counts[risk_of(group)] += 1
        if _closes_too(group):
            counts[Risk.CLOSES] += 1
    cards = [Card(risk.value, count, KEYS[risk]) for risk, count in counts.items()]
    cards += [Card("decided by comments", decided, KEYS[Risk.COSMETIC])] if decided else []
    stops = start_cards(verification.start_stops)
    if stops and not counts[Risk.BREAKS]:
        cards = cards[1:]  # that of the start would say 0
    return (*stops, *cards, unknown_card(verification.scope, len(verification.not_decided)))


def _closes_too(group: DifferenceGroup) -> bool:
    """Return True for a cause that opens for one client and closes for another."""
    return risk_of(group) is Risk.OPENS and group.closes


def _load_errors(verification: VerifyResult, anchors: Anchors) -> Iterable[FindingGroup]:
    for name, errors in zip(verification.names, verification.errors, strict=True):
        items = []
        for error in errors:
            place = page_text(str(error.place)) if error.place is not None else "no line"
            lines = tuple(CodeLine(plain(line)) for line in error.text.splitlines())
            risk = KEYS[Risk.BREAKS]
            word = Risk.BREAKS.value
            items.append(
                ShownFinding(
                    anchors.new(f"load {name}"), "", "", place, risk, word, "It does not load:", code=lines
                )
            )
        if items:
            title = page_text(f"{name} does not load")
            yield FindingGroup(anchors.new(title), title, tuple(items))


def _groups(
    groups: list[DifferenceGroup], items: list[ShownFinding], anchors: Anchors
) -> Iterable[FindingGroup]:
    """Yield the causes by the file of their first line."""
    by_path: dict[str, list[ShownFinding]] = {}
    for group, item in zip(groups, items, strict=True):
        line = _first_line(group)
        by_path.setdefault(line.path if line is not None else "", []).append(item)
    for path, of_file in by_path.items():
        title = page_text(path, MAX_CODE) or "no line of a file"
        yield FindingGroup(anchors.new(f"file {path}"), title, tuple(of_file))


def _first_line(group: DifferenceGroup) -> DecidingLine | None:
    return next(iter((*group.cause.new, *group.cause.old, *group.lines[1], *group.lines[0])), None)


def _places(groups: list[DifferenceGroup], items: list[ShownFinding]) -> dict[tuple[str, int], str]:
    """Return the anchors of the causes, by file and line."""
    places: dict[tuple[str, int], str] = {}
    for group, item in zip(groups, items, strict=True):
        line = _first_line(group)
        if line is not None:
            places.setdefault((line.path, line.line), item.anchor)
    return places


def _place_of(one: NotDecided) -> str:
    """Return the line of the new text, or of the old one, that *one* is about; "" for none."""
    places = [f"{path}:{line}" for path, line in (*one.places[1], *one.places[0])]
    return next((place for place in places if f" {place}: " in one.reason), places[0] if places else "")


def _item(at: int, group: DifferenceGroup, names: tuple[str, str], anchors: Anchors) -> ShownFinding:
    risk = risk_of(group)
    old, new = names_of(group, names)
    line = _first_line(group)
    notes = [ASSUMED] if group.is_assumed else []
    notes += [OF_VERSIONS] if group.is_of_versions else []
    notes += [page_text(group.reason)] if group.reason else []
    notes += [page_text(f"decided in the text: {', '.join(group.decided)}")] if group.decided else []
    if group.comments() and not group.decided:
        notes += [page_text("to record in the main file that the answers of 2.4 are wanted:")]
        notes += list(map(page_text, group.comments()))
    causes = (old, group.joint_cause.old), (new, group.joint_cause.new)
    # of a line that one version refuses, the other one may have it as well: that side is not "nothing"
    sides = tuple(CodeSide(page_text(name), _lines(lines)) for name, lines in causes if lines)
    return ShownFinding(
        anchors.new("cause"),
        RULES[group.kind],
        KINDS[group.kind],
        f"difference {at}" + (f", line {line.line}" if line is not None and line.line else ""),
        KEYS[risk],
        risk.value,
        page_text(headline(group)),
        (count_noun(group.count, "difference"),),
        tuple(("", note) for note in notes),
        sides=sides,
        table=_examples(group, (page_text(old), page_text(new))),
        also=(KEYS[Risk.CLOSES], Risk.CLOSES.value) if _closes_too(group) else None,
    )


def _lines(lines: Iterable[DecidingLine]) -> tuple[CodeLine, ...]:
    """Return lines with the file in front where it changes."""
    out: list[CodeLine] = []
    path = ""
    for line in lines:
        if line.path != path:
            path = line.path
            out.append(CodeLine(plain(path), sign="@"))
        out.append(CodeLine(plain(line.text), line.line))
    return tuple(out)


def _request(example: Example) -> str:
    """Return the request with all clients for whom it changes, if they are known."""
    return f"{example.probe}; clients: {example.clients}" if example.clients else str(example.probe)


def _examples(group: DifferenceGroup, names: tuple[str, str]) -> ReportTable | None:
    """Return the parts in which the answers to each example differ."""
    rows = tuple(
        (
            Cell(page_text(_request(example)), "code"),
            Cell(page_text(part.name)),
            Cell(page_text(part.old) or "none"),
            Cell(page_text(part.new) or "none"),
        )
        for example in group.examples
        for part in example.difference.parts
    )
    return ReportTable("Examples", ("Request", "Part", *names), rows) if rows else None
