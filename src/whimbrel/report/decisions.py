"""What a person must decide before 2.4 serves, and who gains or loses access.

Check, upgrade and the pages write the same sentences, and the same words for what they count: a *finding* is
what is to change or to look at, its *place* a file and a line, and *to decide* is each finding that needs a
review or a decision. Every finding is counted once: fixed by upgrade, to decide, not read, or waiting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from whimbrel.base.counts import and_more, count_noun, word_for
from whimbrel.base.terminal_text import cut
from whimbrel.report.entries import relative_places
from whimbrel.report.model import Report, ReportEntry
from whimbrel.report.questions import (
    Question,
    QuestionText,
    named_rule,
    question_lines,
    question_texts,
    questions,
)
from whimbrel.upgrade.edits.diff import display_path
from whimbrel.upgrade.model import DIFFERENCE, LOAD_ERROR, READ_ERROR, AccessDifference, Risk

MAX_EXAMPLE: Final = 200
"""Characters of the client and the request that gain or lose access."""
PART: Final = "; the server of what was read is not known, whose sections decide too"
"""What limits a sentence about access where files were read alone."""
MORE_QUESTIONS: Final = "upgrade compares answers and may ask more"
"""What the counts of a check leave open."""
_NUMBERS: Final = ("fixed", "to_decide", "unread", "waiting", "notes")
MAX_ACCESS_LINE: Final = 160
"""Characters of the line about access; of a longer one each finding has a line."""
MAX_SHORT: Final = 6
"""Questions that the end of a long text names."""
_NOT_OF_CHECK: Final = frozenset((DIFFERENCE, LOAD_ERROR))
"""Findings of a comparison or a start, which `explain` of a line does not have."""
MAX_ACCESS: Final = 3
"""Findings that the line about access names for each of its risks."""


class FindingCounts(NamedTuple):
    """The findings of some entries, each in one of four numbers, and the notes beside them.

    *is_compared*: `upgrade` compares answers that depend on its changes, and may ask about them.
    """

    fixed: int
    to_decide: int
    unread: int
    waiting: int
    notes: int
    is_compared: bool = False

    @property
    def findings(self) -> int:
        """The number of findings."""
        return self.fixed + self.to_decide + self.unread + self.waiting

    @property
    def parts(self) -> list[str]:
        """What the findings are, in words, without zero counts."""
        fixed = "changed by upgrade" if self.is_compared else "fixed by upgrade"
        return [
            *([f"{self.fixed:,} {fixed}"] if self.fixed else []),
            *([f"{self.to_decide:,} to decide"] if self.to_decide else []),
            *([f"{self.unread:,} not read"] if self.unread else []),
            *([f"{self.waiting:,} {word_for(self.waiting, 'waits', 'wait')}"] if self.waiting else []),
        ]


def counts_of(entries: Iterable[ReportEntry]) -> FindingCounts:
    """Return the counts of *entries*."""
    numbers = dict.fromkeys(_NUMBERS, 0)
    is_compared = False
    for entry in entries:
        count = _count_of(entry)
        numbers[count] += 1
        is_compared |= count == "fixed" and entry.is_to_compare
    return FindingCounts(**numbers, is_compared=is_compared)


def counts_as_json(entries: Iterable[ReportEntry]) -> dict[str, int]:
    """Return the counts of *entries* for JSON, with the number of places to decide about."""
    found = list(entries)
    counted = counts_of(found)
    places = len({entry.place for entry in found if is_to_decide(entry)})
    numbers = {name: getattr(counted, name) for name in _NUMBERS}
    return {"findings": counted.findings, **numbers, "places_to_decide": places}


def _count_of(entry: ReportEntry) -> str:
    if entry.needs_review or entry.decision:
        is_unread = entry.rule == READ_ERROR and entry.risk is not Risk.BREAKS
        return "unread" if is_unread else "to_decide"
    if entry.is_note:
        return "notes"
    return "waiting" if entry.waits_for else "fixed"


def is_to_decide(entry: ReportEntry) -> bool:
    """Return True if a person must look at *entry*; text that could not be read is counted apart."""
    is_open = entry.needs_review or bool(entry.decision)
    return is_open and not entry.is_lone and (entry.rule != READ_ERROR or entry.risk is Risk.BREAKS)


def has_stop(entries: Iterable[ReportEntry]) -> bool:
    """Return True if 2.4 does not start, or answers 500, until a person has looked at one of *entries*."""
    return any(entry.risk is Risk.BREAKS and not entry.is_fixable for entry in filter(is_to_decide, entries))


def open_questions(entries: Iterable[ReportEntry]) -> list[Question]:
    """Return the questions of the findings that a person must look at."""
    return questions(filter(is_to_decide, entries))


def to_decide(entries: Iterable[ReportEntry]) -> str:
    """Return ``to decide: 2 findings at 1 place``, or ``to decide: nothing``."""
    open_work = list(filter(is_to_decide, entries))
    if not open_work:
        return "to decide: nothing"
    places = count_noun(len({entry.place for entry in open_work}), "place")
    return f"to decide: {count_noun(len(open_work), 'finding')} at {places}"


def open_question_texts(entries: Iterable[ReportEntry]) -> list[QuestionText]:
    """Return the texts of the questions."""
    return question_texts(open_questions(entries))


def decisions_in_short(
    entries: Iterable[ReportEntry], explaining: Callable[[str], str] | None = None
) -> Iterator[str]:
    """Yield the rules and places of the questions, a line for each of the first `MAX_SHORT`, and the command
    that shows what the answers to the first one lead to: *explaining* makes it of a place.

    Of what a comparison of answers alone has found no command is named: `explain` compares none.
    """
    open_entries = sorted(filter(is_to_decide, entries), key=lambda entry: entry.question_order)
    found = questions(open_entries)
    for one in found[:MAX_SHORT]:
        yield f"  {named_rule(one.rule)}  {one.places[0]}{and_more(len(one.places) - 1)}"
    if len(found) > MAX_SHORT:
        yield f"  {len(found) - MAX_SHORT} more"
    shown_first = (one for one in open_entries if one.line and one.rule not in _NOT_OF_CHECK)
    first = next(shown_first, None)
    if first is not None and explaining is not None:
        is_first = first is open_entries[0]
        what = "the first" if is_first else f"{first.rule} {first.place}, the first that `explain` shows"
        yield f"  the choices of {what}: {explaining(first.place)}"


def access_line(entries: Sequence[ReportEntry], exempted: Sequence[ReportEntry] = (), stop: str = "") -> str:
    """Return which findings open or close access if the text stays as it is, those to decide first: up to
    `MAX_ACCESS` of each risk with what is left to do, and for whom; *exempted* are those that a comment
    exempts. *stop*: which version does not start, "" where 2.4 starts.
    """
    begin, *texts = _access_parts(entries, exempted, stop)
    return f"{begin} {'; '.join(texts)}"


def _access_parts(
    entries: Sequence[ReportEntry], exempted: Sequence[ReportEntry], stop: str
) -> tuple[str, ...]:
    """Return the begin of the line about access, and what it says of each finding."""
    texts = _access_texts(entries)
    left_out = [f"left out by a comment: {text}" for text in _access_texts(exempted)]
    if not texts:
        texts = ["no other finding opens or closes it" if left_out else "no finding opens or closes it"]
    begin = f"access: {stop} with this text; beside that," if stop else "access:"
    return begin, *texts, *left_out


def access_in_short(entries: Sequence[ReportEntry]) -> str:
    """Return the first finding that opens or closes access, one that a person must decide about if there is
    one, with the number of the others of this kind; "" for none."""
    texts = _access_texts(list(filter(is_to_decide, entries))) or _access_texts(entries)
    return f"{texts[0]}{and_more(len(texts) - 1)}" if texts else ""


def _access_texts(entries: Sequence[ReportEntry], *, is_upgraded: bool = False) -> list[str]:
    """Return what findings say about access, the first `MAX_ACCESS` of each risk. *is_upgraded*: of a text
    that `upgrade` changes, the new one is meant: the risk is that of the old one.
    """
    texts = []
    for risk, word in ((Risk.OPENS, "opens"), (Risk.CLOSES, "closes")):
        found = [entry for entry in entries if entry.risk is risk and not entry.is_lone]
        found.sort(key=lambda entry: (not is_to_decide(entry), not entry.evidence))
        for entry in found[:MAX_ACCESS]:
            mark = f" ({entry.mark})" if entry.mark else ""
            example = cut(entry.evidence.partition("\n")[0], MAX_EXAMPLE)
            if is_upgraded and entry.is_fixable:
                would = f"would {word.removesuffix('s')} it at {entry.place}"
                left = "needs review" if entry.needs_review else "to decide"
                texts.append(f"{named_rule(entry.rule)} {would} without what upgrade writes ({left})")
                continue
            texts.append(
                f"{named_rule(entry.rule)} {word} it at {entry.place}{mark}{example and f': {example}'}"
            )
        if len(found) > MAX_ACCESS:
            more = count_noun(len(found) - MAX_ACCESS, "more finding")
            texts.append(f"{more} {word_for(len(found) - MAX_ACCESS, word, word.removesuffix('s'))} it")
    return texts


def answer(report: Report) -> list[str]:
    """Return how much is to decide, what was not read, and who gains or loses access; nothing where nothing
    was found.
    """
    entries = report.counted
    if not report.findings and not report.exempted:
        return []
    access = access_line(entries, report.exempted, not_started(report)) + PART * report.is_part
    questions_in_all = len(open_questions(entries))
    alike = (
        f", {count_noun(questions_in_all, 'question')}"
        if questions_in_all < sum(map(is_to_decide, entries))
        else ""
    )
    return [to_decide(entries) + alike, *_not_read(entries), access]


def not_started(report: Report) -> str:
    """Return which version does not start with the text as it stands, "" where 2.4 may start."""
    return report.stop.partition(": ")[0]


def answer_lines(report: Report) -> list[str]:
    """Return the same as lines of text, with the questions below the number of them, and a long line about
    access with one finding in each line.
    """
    first, *rest = answer(report) or [""]
    if not first:
        return []
    if len(rest[-1]) > MAX_ACCESS_LINE:
        begin, *texts = _access_parts(report.counted, report.exempted, not_started(report))
        part = [f"  {PART.removeprefix('; ')}"] if report.is_part else []
        rest[-1:] = [begin, *(f"  {text}" for text in texts), *part]
    return [first, *question_lines(open_question_texts(report.counted)), *rest]


def last_lines(report: Report, explaining: Callable[[str], str] | None = None) -> list[str]:
    """Return the answer again for the end of a long text: the questions with their rules and places alone."""
    lines = answer_lines(report)
    if not lines:
        return []
    count = len(list(question_lines(open_question_texts(report.counted))))
    return [lines[0], *decisions_in_short(report.counted, explaining), *lines[1 + count :]]


def unread(entries: Iterable[ReportEntry]) -> list[ReportEntry]:
    """Return the findings about text that could not be read, and that nobody has to decide about."""
    return [entry for entry in entries if entry.needs_review and _count_of(entry) == "unread"]


def _not_read(entries: Iterable[ReportEntry]) -> Iterator[str]:
    """Yield how many places could not be read, with the first; nothing for none."""
    found = unread(entries)
    if found:
        first = f"{found[0].place}: {found[0].message}{and_more(len(found) - 1)}"
        yield f"not read: {count_noun(len(found), 'place')}: {first}"


def access_of_comparison(
    differences: Sequence[AccessDifference], entries: Sequence[ReportEntry] = (), directory: str = ""
) -> str:
    """Return how many examples of a comparison gain or lose access, with one of each and the line that
    decides, as a path below *directory*; and those of *entries* to decide that open or close it, where no
    request shows that.
    """
    gains, loses = _gains_and_losses(differences)
    unseen = [risk for risk, count in ((Risk.OPENS, gains), (Risk.CLOSES, loses)) if not count]
    open_entries = [entry for entry in entries if entry.risk in unseen and is_to_decide(entry)]
    texts = _access_texts(open_entries, is_upgraded=True)
    others = f"; without a request that shows it: {'; '.join(texts)}" if texts else ""
    if not gains and not loses:
        return f"access: no request of the comparison gains or loses it{others}"
    counts = f"access: {access_counts(differences)}"
    examples = [
        _example_of([one for one in differences if one.risk is risk], word, directory)
        for risk, word in ((Risk.OPENS, "gains"), (Risk.CLOSES, "loses"))
    ]
    return relative_places(f"{counts}, such as {'; '.join(filter(None, examples))}{others}", directory)


def access_counts(differences: Sequence[AccessDifference]) -> str:
    """Return how many of the examples *differences* gain access and how many lose it; equal ones count once.

    A comparison keeps a few examples of each cause, so it is no number of requests.
    """
    gains, loses = _gains_and_losses(differences)
    first = f"{count_noun(gains, 'example')} {word_for(gains, 'gains', 'gain')} it"
    return f"{first}, {loses:,} {word_for(loses, 'loses', 'lose')} it"


def _gains_and_losses(differences: Sequence[AccessDifference]) -> tuple[int, int]:
    distinct = {(one.risk, one.client, one.request, *one.words) for one in differences}
    risks = [risk for risk, *_ in distinct]
    return risks.count(Risk.OPENS), risks.count(Risk.CLOSES)


def _example_of(differences: Sequence[AccessDifference], word: str, directory: str) -> str:
    """Return one of *differences* with its answers and the line that decides, "" for none: one of a name
    that a client may know rather than one that begins with a dot.
    """
    if not differences:
        return ""
    one = min(differences, key=lambda each: "/." in each.request)
    before, after = one.words
    place = ""
    if one.place is not None:
        place = f" by {display_path(one.place.path, directory)}:{one.place.line}"
    return f"{one.client} {word} {one.request} ({before} -> {after}{place})"
