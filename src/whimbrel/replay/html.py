"""The report of a replay as a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from whimbrel.base.counts import count_noun, word_for
from whimbrel.replay.charts import status_chart, time_chart
from whimbrel.replay.summary import NO_HOST, STATUS, Summary, risk_of, top
from whimbrel.replay.tally import SOURCE_SENT, CausingLine, Change, ChangeKey
from whimbrel.replay.text import answer, logged_as_before, reason_texts, taken_for
from whimbrel.report.page.access_table import GAINS
from whimbrel.report.page.items import plain
from whimbrel.report.page.model import (
    KEYS,
    SAME,
    UNDECIDED,
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
from whimbrel.report.page.texts import MAX_CODE, Anchors, number, page_questions, page_text
from whimbrel.report.page.unknown import unknown_card, unknown_tables
from whimbrel.report.page.writing import write
from whimbrel.report.readiness import readiness_of_replay
from whimbrel.upgrade.model import Risk

NO_LINE: Final = "no line differs: a default of the dialect"
MAX_ROWS: Final = 500


def html_of(summary: Summary, next_command: str = "") -> str:
    """Return the page; *next_command* is what to run after reading."""
    return write(page_of(summary, next_command))


def page_of(summary: Summary, next_command: str = "", first: str = "") -> ReportPage:
    """Return the page of *summary*: verdict, who gains or loses access, statuses, changes by line, and what
    is to do *first*, before the next command.
    """
    anchors = Anchors()
    changes = [(key, change, anchors.new("change")) for key, change in summary.changes]
    charts = (status_chart(summary), time_chart(summary))
    return ReportPage(
        "replay",
        "Logged requests, old and new answers",
        _badge(summary),
        _sentence(summary),
        answer=tuple(page_text(text) for text in _answer(summary) if text),
        questions=page_questions(summary.questions),
        facts=tuple(map(page_text, _facts(summary))),
        cards=_cards(summary),
        tables=(*_access(changes), *unknown_tables(summary.scope)),
        charts=tuple(chart for chart in charts if chart is not None),
        groups=(*_errors(summary), *_groups(changes, anchors, summary.decided)),
        groups_title="What changes",
        first=page_text(first),
        next_command=page_text(next_command),
        noun="change",
        nothing=_nothing(summary),
        after=(*_logged(summary), *_unread(summary)),
    )


def _answer(summary: Summary) -> tuple[str, ...]:
    return summary.documents, readiness_of_replay(summary), *(() if summary.errors else answer(summary))


def _nothing(summary: Summary) -> str:
    """Return what stands in the place of changes where there are none."""
    if summary.is_against_log:
        return "There is no old configuration: the statuses are compared with the log, see below."
    if summary.not_compared:
        return f"{summary.compared}: none is answered otherwise{summary.left_out}"
    return "Nothing changes." if summary.is_known else "Nothing changes in what is known."


def _badge(summary: Summary) -> Badge:
    if summary.errors:
        return Badge("Does not load", KEYS[Risk.BREAKS])
    if summary.differs_from_log:
        return Badge("Differs from the log", KEYS[Risk.CHANGES])
    risks = [risk_of(key) for key, _ in summary.changes if key not in summary.decided]
    if risks and set(risks) == {Risk.COSMETIC} and summary.is_known:
        return Badge("Cosmetic changes", KEYS[Risk.COSMETIC])
    if risks and set(risks) != {Risk.COSMETIC}:
        return Badge("Answers change", KEYS[min(risks, key=lambda risk: risk.rank)])
    same = "As logged" if summary.is_against_log else "Nothing changes"
    return Badge(same, SAME) if summary.is_known else Badge("Not decided", UNDECIDED)


def _sentence(summary: Summary) -> str:
    tally = summary.tally
    if summary.errors:
        return "No request was replayed."
    cosmetic = sum(change.requests for key, change in tally.changes.items() if key.rule)
    count = summary.not_as_logged if summary.is_against_log else tally.changed - cosmetic
    what = "another status than was logged" if summary.is_against_log else "another answer"
    text = f"{number(count)} of {summary.compared} {word_for(count, 'gets', 'get')} {what}"
    total = summary.comparable if summary.is_against_log else tally.requests - summary.not_compared
    text += f" ({100 * count / total:.2f} %)" if total else ""
    text += f", {number(cosmetic)} differ in what is cosmetic" if cosmetic else ""
    text += summary.left_out
    unknown = len(summary.scope.deciding)
    facts = f"{count_noun(unknown, 'fact')} that may matter {word_for(unknown, 'is', 'are')} not known"
    return f"{text}; {facts}" if unknown else text


def _facts(summary: Summary) -> Iterator[str]:
    tally = summary.tally
    if not summary.is_against_log:
        yield f"old: {summary.old}"
    yield f"new: {summary.new}"
    yield f"logs: {', '.join(summary.logs)}"
    yield f"{count_noun(tally.lines, 'line')}, {count_noun(tally.requests, 'request')}"
    yield from taken_for(tally)
    for count, what in (
        (tally.malformed, "of another format"),
        (tally.huge, "that are too long"),
        (tally.without_request, "without a request"),
    ):
        if count:
            yield f"lines {what}: {number(count)}"
    yield logged_as_before(summary)


def _cards(summary: Summary) -> tuple[Card, ...]:
    """Return the numbers of requests by risk; those that do not load, and what was not decided."""
    counts = dict.fromkeys((Risk.BREAKS, Risk.OPENS, Risk.CLOSES, Risk.CHANGES, Risk.COSMETIC), 0)
    counts[Risk.BREAKS] = len(summary.errors)
    for key, change in summary.changes:
        counts[risk_of(key)] += change.requests
    cards = [Card(risk.value, count, KEYS[risk]) for risk, count in counts.items()]
    unchanged = (
        Card("requests, as logged", summary.as_logged, "")
        if summary.is_against_log
        else Card(
            "requests, same answer",
            summary.tally.requests - summary.tally.changed - summary.tally.not_compared,
            "",
        )
    )
    not_run = summary.not_compared
    programs = (Card("requests, not run", not_run, UNDECIDED),) if not_run else ()
    return (*cards, unchanged, *programs, unknown_card(summary.scope, word="facts, not known"))


Changes = list[tuple[ChangeKey, Change, str]]
"""Changes with their anchors."""


def _access(changes: Changes) -> Iterator[ReportTable]:
    """Yield the table of clients that gain or lose access; none without one."""
    rows = []
    for key, change, anchor in changes:
        found = STATUS.search(key.what)
        risk = risk_of(key)
        values = ("run", "source") if key.what == SOURCE_SENT else found and found.groups()
        if values is None or risk is Risk.CHANGES:
            continue
        rows.append(
            (
                Cell(GAINS[risk], "chip", KEYS[risk]),
                Cell(_names(change.clients)),
                Cell(_names(change.paths), "code", href=anchor),
                Cell(values[0], "number"),
                Cell(values[1], "number"),
                Cell(number(change.requests), "number"),
            )
        )
    if rows:
        columns = ("Access", "Clients", "Paths", "Before", "After", "Requests")
        yield ReportTable("Who gains or loses access", columns, tuple(rows[:MAX_ROWS]), "access")


def _names(names: Counter[str]) -> str:
    """Return the two most frequent names and the number of the others."""
    shown = [page_text(each["name"], MAX_CODE) for each in top(names)[:2]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {number(more)} more" if more else "")


def _errors(summary: Summary) -> Iterator[FindingGroup]:
    items = tuple(
        ShownFinding(f"error-{at}", "", "", "load", KEYS[Risk.BREAKS], Risk.BREAKS.value, page_text(error))
        for at, error in enumerate(summary.errors, 1)
    )
    if items:
        yield FindingGroup("errors", "A configuration does not load", items)


def _groups(
    changes: Changes, anchors: Anchors, decided: Mapping[ChangeKey, tuple[str, ...]]
) -> Iterator[FindingGroup]:
    """Yield the changes by the file of their first line; the file with the most requests comes first."""
    by_file: dict[str, list[ShownFinding]] = {}
    for key, change, anchor in changes:
        line = next(iter((*key.new, *key.old)), None)
        item = _item(key, change, anchor, line, decided.get(key, ()))
        by_file.setdefault(line.file if line is not None else "", []).append(item)
    for file, items in by_file.items():
        title = page_text(file, MAX_CODE) or NO_LINE
        yield FindingGroup(anchors.new(f"file {file}"), title, tuple(items))


def _item(
    key: ChangeKey, change: Change, anchor: str, line: CausingLine | None, decided: tuple[str, ...]
) -> ShownFinding:
    risk = risk_of(key)
    notes = [("why", page_text(key.reason))] if key.reason else []
    notes += [("decided in the text", page_text(", ".join(decided)))] if decided else []
    sides = (CodeSide("old", _lines(key.old)), CodeSide("new", _lines(key.new)))
    return ShownFinding(
        anchor,
        "",
        "",
        f"line {line.line}" if line is not None and line.line else "no line",
        KEYS[risk],
        risk.value,
        page_text(f"{count_noun(change.requests, 'request')}: {key.what}"),
        notes=tuple(notes),
        sides=sides if key.old or key.new else (),
        table=_for_whom(change),
    )


def _lines(lines: Iterable[CausingLine]) -> tuple[CodeLine, ...]:
    """Return lines with the file in front where it changes."""
    out: list[CodeLine] = []
    file = ""
    for line in lines:
        if line.file != file:
            file = line.file
            out.append(CodeLine(plain(file), sign="@"))
        if line.text or line.line:
            out.append(CodeLine(plain(line.text), line.line))
    return tuple(out)


def _for_whom(change: Change) -> ReportTable:
    """Return the most frequent clients, users, hosts and paths, and examples."""
    rows = []
    for what, names in (
        ("client", change.clients),
        ("user", change.users),
        ("host", change.hosts),
        ("path", change.paths),
    ):
        shown = top(names) if set(names) - {NO_HOST} else []
        for each in shown:
            cells = Cell(what), Cell(page_text(each["name"], MAX_CODE), "code")
            rows.append((*cells, Cell(number(each["requests"]), "number")))
        if len(names) > len(shown):
            rows.append((Cell(what), Cell(f"and {number(len(names) - len(shown))} more"), Cell("")))
    for example in change.examples:
        rows.append((Cell("example"), Cell(page_text(example, MAX_CODE), "code"), Cell("")))
    counts = [
        count_noun(len(names), noun)
        for noun, names in (("client", change.clients), ("user", change.users), ("path", change.paths))
        if names
    ]
    title = f"For whom: {', '.join(counts)}, with examples"
    columns = ("For whom", "Name", "Requests")
    return ReportTable("For whom", columns, (), folded=tuple(rows), fold_title=title)


def _logged(summary: Summary) -> Iterator[ReportTable]:
    """Yield the table of statuses that differ from the logged ones."""
    examples = summary.tally.status_examples
    rows = tuple(
        (
            Cell(str(logged), "number"),
            Cell(str(now), "number"),
            Cell(number(count), "number"),
            Cell(page_text(examples.get((logged, now), ""), MAX_CODE), "code"),
            Cell(page_text(_because(summary, (logged, now)), MAX_CODE), "code"),
        )
        for (logged, now), count in summary.statuses[:MAX_ROWS]
    )
    if rows:
        note = f"{logged_as_before(summary)}."
        yield ReportTable(
            "Logged and now", ("Logged", "Now", "Requests", "Example", "Because"), rows, "logged", note
        )


def _because(summary: Summary, statuses: tuple[int, int]) -> str:
    """Return why a request has another status than was logged, "" where that is not known."""
    reason = summary.tally.status_reasons.get(statuses)
    return "; ".join(reason_texts(reason, summary.roots)) if reason is not None else ""


def _unread(summary: Summary) -> Iterator[ReportTable]:
    rows = tuple((Cell(page_text(text), "code"),) for text in summary.tally.malformed_examples)
    if rows:
        yield ReportTable("Lines that were not replayed", ("Example",), rows, "unread")
