"""What an upgrade leaves to a person, as its journal keeps it: a check of the new text may not find it again.

A decision is open until the new text shows one: a comment that exempts the line from the rule, or other lines
in the place of those that it is about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from whimbrel.base.errors import SourceLocation
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.real_paths import real_path
from whimbrel.upgrade.model import DIFFERENCE, LOAD_ERROR, NO_FIXPOINT, READ_ERROR, Finding, Risk
from whimbrel.upgrade.source.suppressions import suppressions

if TYPE_CHECKING:
    from whimbrel.upgrade.check.fixpoint import UpgradeResult

LEFT: Final = "left by upgrade to decide: "
"""The begin of the message of such a finding."""
_REPEATED: Final = frozenset((READ_ERROR, LOAD_ERROR, DIFFERENCE, NO_FIXPOINT))
"""Findings that the next command finds itself, and that no comment can record."""
_BLANKS: Final = b" \t\r\f\v"


class LeftDecision(NamedTuple):
    """One finding that a person must decide about.

    Attributes:
        path: the real path of the file. `line`: the number in the text of 2.2.
        about: the lines of the new text that it is about: it is decided where none of them is there.
        adjacent: further lines at which a comment records the decision.
        is_written: the upgrade has changed the text; else it left the lines alone.
    """

    rule: str
    path: str
    line: int
    message: str
    advice: str
    risk: str
    decision: str
    answers: tuple[str, ...]
    about: tuple[str, ...]
    adjacent: tuple[str, ...]
    is_written: bool

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes it one decision, of several upgrades."""
        return self.rule, self.path, self.message

    @classmethod
    def load(cls, row: list[object]) -> LeftDecision:
        """Return the decision of a row of JSON; raises TypeError."""
        values = [tuple(map(str, one)) if isinstance(one, list) else one for one in row]
        return cls(*values)  # type: ignore[arg-type]


def left_decisions(
    result: UpgradeResult, texts: Mapping[str, bytes], *, is_confirmed: bool = False
) -> Iterator[LeftDecision]:
    """Yield what *result* leaves to a person; *texts* are the changed files as they are written, and
    *is_confirmed*: the user was asked about each change.
    """
    for finding in result.findings:
        is_open = finding.needs_review or bool(finding.decision)
        path = finding.place.path
        if not is_open or finding.rule in _REPEATED or path in result.tree.lone_paths:
            continue
        if finding.message.startswith(LEFT):  # of an earlier upgrade, whose journal has it
            continue
        file = result.tree.files.get(path)
        if file is None or (is_confirmed and finding.edits):
            continue
        old = _texts(file.document.bytes)
        new = _texts(texts.get(path, file.document.bytes))
        own = old[finding.place.line - 1 : finding.place.line] if finding.place.line else []
        adjacent = (
            [text for text in own if text in new]
            or [
                text
                for text in new
                for line in own
                if text.split()[:1] == line.split()[:1]  # moved with a copy
            ][:1]
        )
        written = [text for text in _texts(b"\n".join(map(to_bytes, finding.new))) if text in new]
        about = (written if finding.edits else []) or adjacent
        yield LeftDecision(
            finding.rule,
            real_path(path),
            finding.place.line,
            finding.message,
            finding.advice,
            finding.risk.value,
            finding.decision,
            finding.answers,
            tuple(map(to_text, filter(None, about))),
            tuple(map(to_text, filter(None, adjacent))),
            bool(finding.edits),
        )


def findings_left(
    left: Iterable[LeftDecision], files: Iterable[str], text_of: Callable[[str], bytes]
) -> Iterator[tuple[Finding, bool]]:
    """Yield the findings about decisions that are open in the present text of *files*, each with False; those
    that a comment with their rule records with True. *text_of* returns the text of a file.
    """
    places: dict[str, str] = {}
    for one in left:
        places = places or {real_path(path): path for path in files}
        if one.path not in places:
            continue
        data = text_of(places[one.path])
        lines = _texts(data)
        about = _numbers(lines, one.about)
        if one.about and not about:
            continue
        comments = suppressions(data)
        numbers = (*about, *_numbers(lines, one.adjacent))
        found = [comments[number] for number in numbers if number in comments]
        if any(one.rule in names for names in found):
            is_recorded = True
        elif any(not names for names in found):
            continue
        else:
            is_recorded = False
        place = min(about or [one.line], key=lambda number: abs(number - one.line))
        yield _finding(one, SourceLocation(places[one.path], place)), is_recorded


def _finding(one: LeftDecision, place: SourceLocation) -> Finding:
    question = one.decision
    answers = one.answers
    advice = one.advice
    if one.is_written:
        advice = "look at the lines that the upgrade wrote"
        question = question or f"Is what upgrade wrote right? {one.message}"
        comment = f"# whimbrel: ignore[{one.rule}] above the line records it"
        answers = f"yes: {comment}", "no: correct the line by hand"
    return Finding(
        one.rule,
        place,
        LEFT + one.message,
        advice,
        Risk(one.risk),
        decision=LEFT + (question or one.message),
        answers=answers,
    )


def _texts(data: bytes) -> list[bytes]:
    return [line.strip(_BLANKS) for line in data.split(b"\n")]


def _numbers(lines: list[bytes], texts: tuple[str, ...]) -> list[int]:
    """Return the numbers of the lines that have one of *texts*."""
    wanted = set(map(to_bytes, texts))
    return [number for number, line in enumerate(lines, 1) if line in wanted]
