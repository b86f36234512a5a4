"""The questions that findings leave to a person, and what their answers lead to."""

from __future__ import annotations

import pytest

from whimbrel.report.model import ReportEntry
from whimbrel.report.questions import MAX_QUESTIONS, OF_CHECK, question_lines, question_texts, questions
from whimbrel.upgrade.model import DIFFERENCE, Risk

COMMENT = "# whimbrel: ignore[R02] above the line"


def entry(rule: str = "R02", line: int = 2, **parts: object) -> ReportEntry:
    values: dict[str, object] = {"advice": "write b", "risk": Risk.CHANGES, "needs_review": True, **parts}
    return ReportEntry(rule, "a", line, str(values.pop("message", "2.4 does a")), **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "text", "answers"),
    [
        (entry(), "Is this wanted? 2.4 does a", (f"yes: {COMMENT} records it", "no: write b")),
        # what edits write is the question, and a comment keeps them out
        (
            entry(is_fixable=True, new=("b",)),
            "Is what upgrade writes right? 2.4 does a",
            ("yes: upgrade writes `b`", f"no: {COMMENT} keeps it as it is"),
        ),
        (
            entry(is_fixable=True, decision="May it?"),
            "May it?",
            ("yes: upgrade does it", f"no: {COMMENT} keeps it as it is"),
        ),
        # no comment lets 2.4 start
        (entry(risk=Risk.BREAKS), "2.4 does a", ("do: write b",)),
        (
            entry(risk=Risk.BREAKS, is_fixable=True, new=("b",)),
            "Is what upgrade writes right? 2.4 does a",
            ("yes: upgrade writes `b`", "no: correct the new text by hand"),
        ),
        # other files decide
        (
            entry(message="possible: 2.4 does a"),
            "Does it hold here? 2.4 does a",
            (f"no: {COMMENT} records it", "yes: write b"),
        ),
        # no comment exempts what has no rule, or no line
        (entry(DIFFERENCE), "Is this wanted? 2.4 does a", ("yes: nothing records it", "no: write b")),
        (entry(line=0), "Is this wanted? 2.4 does a", ("yes: nothing records it", "no: write b")),
        # a rule that knows better
        (entry(decision="A or b?", answers=("A: x", "b: y")), "A or b?", ("A: x", "b: y")),
    ],
)
def test_a_question_and_its_answers(one: ReportEntry, text: str, answers: tuple[str, ...]) -> None:
    (found,) = questions([one])
    assert (found.text, found.answers) == (text, answers)


def test_equal_questions_stand_once_and_the_worst_risk_comes_first() -> None:
    many = [entry(line=line) for line in range(1, 6)]
    opens = entry("X20", 9, risk=Risk.OPENS)
    found = questions([*many, opens])
    assert [(one.rule, one.place) for one in found] == [("X20", "a:9"), ("R02", "a:1 and 4 more")]
    assert questions(many[:2])[0].place == "a:1 and a:2"
    assert questions(many[:3])[0].place == "a:1, a:2 and a:3"


def test_questions_of_a_rule_that_differ_in_one_quoted_text_are_one() -> None:
    asked = [entry("R01", line, decision=f"May URLs of `{line}` get `403`?") for line in range(1, 6)]
    (three,) = questions(asked[:3])
    assert three.text == "May URLs of `1`, `2` or `3` get `403`?"
    assert three.places == ("a:1", "a:2", "a:3")
    assert questions(asked)[0].text == "May URLs of `1`, `2` or 3 more get `403`?"
    # another rule, other answers, other words, and two quoted texts that differ are other questions
    others = [
        entry("R02", 9, decision="May URLs of `9` get `403`?"),
        entry("R01", 9, decision="May URLs of `9` get `403`?", answers=("yes",)),
        entry("R01", 9, decision="May URLs of `9` get a `403`?"),
    ]
    assert [len(one.places) for one in questions([*asked[:2], *others])] == [2, 1, 1, 1]
    two = [asked[0], entry("R01", 9, decision="May URLs of `9` get `404`?")]
    assert [one.text for one in questions(two)] == [two[0].decision, two[1].decision]


def test_many_questions_are_counted() -> None:
    found = questions(entry(line=line, message=f"m{line}") for line in range(1, MAX_QUESTIONS + 4))
    lines = list(question_lines(question_texts(found), "to decide"))
    assert lines[:2] == ["to decide", "  R02 redirect-queries  a:1  Is this wanted? m1"]
    assert lines[-1] == "  3 more questions: at the findings with `needs review` or `decision`"
    assert question_texts(found, OF_CHECK)[-1][2] == f"3 more questions: {OF_CHECK}"
    assert len(lines) == 1 + 3 * MAX_QUESTIONS + 1  # the question and its two answers
    assert list(question_lines([], "to decide")) == []
    alike = [entry(line=90 + at, message="other", risk=Risk.COSMETIC) for at in range(2)]
    entries = [entry(line=line, message=f"m{line}") for line in range(MAX_QUESTIONS)]
    assert question_texts(questions([*entries, *alike]))[-1][2].startswith("1 more question about 2 places:")


def test_questions_about_what_was_answered_come_first() -> None:
    """The effect of the old line is over where `upgrade` changes it: what stays decides about the order."""
    asked = [
        entry("C17", risk=Risk.BREAKS, decision="404?", stays=Risk.CLOSES, was_error=True),
        entry("C18", risk=Risk.CHANGES, decision="body?"),
        entry("C19", risk=Risk.BREAKS, decision="200?", stays=Risk.CLOSES),
        entry("C20", risk=Risk.BREAKS, decision="403?", stays=Risk.OPENS, was_error=True),
    ]
    assert [one.rule for one in questions(asked)] == ["C20", "C19", "C18", "C17"]
