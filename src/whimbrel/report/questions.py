"""The questions that findings leave to a person: one line each, with what each answer leads to. Questions of
a rule that differ in one quoted text are one.

Yes is what the result of `upgrade` does; a finding without edits keeps its text. The comment that records
such an answer stands above the line, and the finding does not appear again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from whimbrel.base.counts import and_more, count_noun
from whimbrel.base.terminal_text import cut
from whimbrel.report.model import ReportEntry
from whimbrel.upgrade.model import DIFFERENCE, LOAD_ERROR, NO_FIXPOINT, READ_ERROR, Risk
from whimbrel.upgrade.rules import rule_names

MAX_QUESTIONS: Final = 8
"""Questions that an answer names; the findings below have all."""
MAX_WRITTEN: Final = 60
"""Characters of a line that an answer quotes."""
MAX_ALIKE: Final = 3
"""Places and quoted texts that a question about several names."""
_QUOTED: Final = re.compile(r"(`[^`]*`)")
_NO_RULES: Final = frozenset((READ_ERROR, LOAD_ERROR, DIFFERENCE, NO_FIXPOINT))
"""What no comment can exempt: no rule has it."""
_AT_FINDINGS: Final = "at the findings with `needs review` or `decision`"
OF_CHECK: Final = "`whimbrel check` of the new configuration has all"
"""Where the other questions are of a report that has no findings."""
_LINE: Final = "above the line"
"""Where a comment stands, as answers say it: `question_texts` names the place."""
_POSSIBLE: Final = "possible: "
"""Begin of the message of a finding that other files decide about."""


QuestionText = tuple[str, str, str, str]
"""The rule with its name, the places, the question, and its answers, as texts: each answer is a line."""


class Question(NamedTuple):
    """One question to a person about equal findings.

    Attributes:
        places: of the findings, in the order of the text.
        text: the question, with the fact behind it; of a line with which 2.4 does not start, what is wrong.
        answers: what each answer leads to, with the answer and a colon in front.
    """

    rule: str
    places: tuple[str, ...]
    text: str
    answers: tuple[str, ...]

    @property
    def place(self) -> str:
        """Return up to `MAX_ALIKE` places; of more the first, and the number of the others."""
        if len(self.places) > MAX_ALIKE:
            return f"{self.places[0]}{and_more(len(self.places) - 1)}"
        return _joined(self.places, "and")


def questions(entries: Iterable[ReportEntry]) -> list[Question]:
    """Return the questions of *entries*, in the order of `ReportEntry.question_order`; equal ones, and those
    that differ in one quoted text, once.
    """
    places: dict[tuple[str, str, tuple[str, ...]], dict[str, None]] = {}
    for entry in sorted(entries, key=lambda entry: entry.question_order):
        key = entry.rule, _text(entry), entry.answers or tuple(_answers(entry))
        places.setdefault(key, {})[entry.place] = None
    alike: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[Question]] = {}
    for (rule, text, answers), found in places.items():
        frame = tuple(_QUOTED.split(text)[::2])
        alike.setdefault((rule, answers, frame), []).append(Question(rule, tuple(found), text, answers))
    return [question for group in alike.values() for question in _grouped(group)]


def _grouped(group: list[Question]) -> list[Question]:
    """Return *group*, questions that differ in quoted texts, as one if they differ in one of them."""
    rows = [_QUOTED.split(one.text) for one in group]
    differing = [at for at, parts in enumerate(zip(*rows, strict=True)) if len(set(parts)) > 1]
    if len(differing) != 1:
        return group
    (at,) = differing
    quoted = [row[at] for row in rows]
    shown = (
        quoted
        if len(quoted) <= MAX_ALIKE
        else [*quoted[: MAX_ALIKE - 1], f"{len(quoted) - MAX_ALIKE + 1:,} more"]
    )
    text = "".join((*rows[0][:at], _joined(shown, "or"), *rows[0][at + 1 :]))
    places = dict.fromkeys(place for one in group for place in one.places)
    return [group[0]._replace(places=tuple(places), text=text)]


def _joined(names: Sequence[str], word: str) -> str:
    """Return *names* with commas, and *word* before the last one."""
    *first, last = names
    return f"{', '.join(first)} {word} {last}" if first else last


def named_rule(rule: str) -> str:
    """Return a rule with its short name."""
    return " ".join(filter(None, (rule, rule_names().get(rule, ""))))


def question_texts(found: Sequence[Question], rest_at: str = _AT_FINDINGS) -> list[QuestionText]:
    """Return the texts of each question; the last one counts those that are too many, which are *rest_at*."""
    texts: list[QuestionText] = []
    for one in found[:MAX_QUESTIONS]:
        rule = named_rule(one.rule)
        where = f"above {one.place}" if len(one.places) == 1 else "above each of these lines"
        answers = (answer.replace(_LINE, where) for answer in one.answers)
        texts.append((rule, one.place, one.text, "\n".join(answers)))
    if len(found) > MAX_QUESTIONS:
        rest = found[MAX_QUESTIONS:]
        more = count_noun(len(rest), "more question")
        places = sum(len(one.places) for one in rest)
        if places > len(rest):
            more += f" about {places:,} places"
        texts.append(("", "", f"{more}: {rest_at}", ""))
    return texts


def question_lines(texts: Iterable[QuestionText], head: str = "") -> Iterator[str]:
    """Yield each of the *texts* as a line, with its answers below it, each on its own, and *head* above."""
    texts = list(texts)
    if texts and head:
        yield head
    for rule, place, text, answers in texts:
        yield f"  {'  '.join(filter(None, (rule, place, text)))}"
        yield from (f"      {answer}" for answer in answers.splitlines())


def _text(entry: ReportEntry) -> str:
    """Return the question of the finding's rule, or one about what the finding says."""
    if entry.decision:
        return entry.decision
    if entry.risk is Risk.BREAKS and not entry.is_fixable:
        return entry.message
    if entry.message.startswith(_POSSIBLE):
        return f"Does it hold here? {entry.message.removeprefix(_POSSIBLE)}"
    what = "what upgrade writes right" if entry.is_fixable else "this wanted"
    return f"Is {what}? {entry.message}"


def _answers(entry: ReportEntry) -> Iterator[str]:
    """Yield what is usual: `upgrade` writes it, a comment records it, or a person corrects the text."""
    is_exempt = entry.rule not in _NO_RULES and bool(entry.line)
    comment = f"# whimbrel: ignore[{entry.rule}] above the line"
    if entry.is_fixable:
        written = next((line.strip() for line in entry.new), "")
        yield f"yes: upgrade writes `{cut(written, MAX_WRITTEN)}`" if written else "yes: upgrade does it"
        if entry.risk is not Risk.BREAKS and is_exempt:
            yield f"no: {comment} keeps it as it is"
        else:
            yield "no: correct the new text by hand"
    elif entry.risk is Risk.BREAKS:
        yield f"do: {entry.advice}"
    else:
        stays, other = ("no", "yes") if entry.message.startswith(_POSSIBLE) else ("yes", "no")
        yield f"{stays}: {comment} records it" if is_exempt else f"{stays}: nothing records it"
        yield f"{other}: {entry.advice}"
