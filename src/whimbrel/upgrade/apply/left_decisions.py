"""What an upgrade leaves to a person, as its journal keeps it: a check of the new text may not find it again.

A decision is open until the new text shows one: a comment that exempts the line from the rule, or another
line in the place of one of those that it is about.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from whimbrel.base.counts import count_noun
from whimbrel.base.errors import SourceLocation
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.base.real_paths import real_path
from whimbrel.base.terminal_text import cut
from whimbrel.upgrade.model import DIFFERENCE, LOAD_ERROR, NO_FIXPOINT, READ_ERROR, Finding, Risk
from whimbrel.upgrade.source.section_ranges import at_each_line, section_around, stripped_lines
from whimbrel.upgrade.source.suppressions import suppressions

if TYPE_CHECKING:
    from whimbrel.upgrade.check.fixpoint import UpgradeResult

LEFT: Final = "left by upgrade to decide: "
"""The begin of the message of such a finding."""
OF_OLD: Final = "of the text of 2.2: "
"""Begin of a message about what an upgrade has replaced."""
AS_BEFORE: Final = "no: write lines that answer as 2.2 did (`whimbrel verify` compares them)"
"""The answer to a question about other answers of a text that an upgrade writes."""
_WRITES: Final = "no: write "
"""What begins an answer that holds for the text of 2.2 and for the new one: it names other lines."""
_KEEPS: Final = "keeps the text as it is"
"""What an answer says of the text of 2.2 alone."""
MAX_WRITTEN: Final = 60
"""Characters of a line that an answer quotes."""
_REPEATED: Final = frozenset((READ_ERROR, LOAD_ERROR, DIFFERENCE, NO_FIXPOINT))
"""Findings that the next command finds itself, and that no comment can record."""


_OPPOSITE: Final = {Risk.OPENS: Risk.CLOSES, Risk.CLOSES: Risk.OPENS}


class LeftDecision(NamedTuple):
    """One finding that a person must decide about.

    Attributes:
        path: the real path of the file. `line`: the number in the text of 2.2.
        about: the lines of the new text that it is about: it is decided where one of them is not there.
        adjacent: further lines at which a comment records the decision.
        is_written: the upgrade has changed the text; else it left the lines alone.
        section: the first line of the section around the line, in the text of 2.2; "" outside of sections.
        is_per_request: 2.4 starts with such a line, and answers requests with 500.
        is_elsewhere: the upgrade wrote lines in further files.
        was_error, is_bidirectional: see `Finding`.
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
    section: str = ""
    is_per_request: bool = False
    is_elsewhere: bool = False
    was_error: bool = False
    is_bidirectional: bool = False

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes it one decision, of several upgrades."""
        return self.rule, self.path, self.message

    @classmethod
    def load(cls, row: list[object]) -> LeftDecision:
        """Return the decision of a row of JSON; raises TypeError or ValueError if it is none."""
        values = [tuple(one) if isinstance(one, list) else one for one in row]
        found = cls(*values)  # type: ignore[arg-type]
        lists = (found.answers, found.about, found.adjacent)
        if not all(isinstance(one, tuple) for one in lists) or not isinstance(found.line, int):
            raise TypeError("a list or number of another type")
        require_texts(found.path, found.section, *found.about, *found.adjacent)
        if not all(isinstance(text, str) for text in (*found[:2], *found[3:7], *found.answers)):
            raise TypeError("a text of another type")
        if not all(isinstance(flag, bool) for flag in (found.is_written, *found[12:])):
            raise TypeError("a flag of another type")
        Risk(found.risk)
        return found


def require_texts(*values: object) -> None:
    """Raise TypeError or ValueError unless each of *values* is a text that bytes of files and paths give."""
    for value in values:
        if not isinstance(value, str):
            raise TypeError(f"{type(value).__name__} where a text is expected")
        if b"\0" in to_bytes(value):
            raise ValueError("NUL in a text")


def left_decisions(
    result: UpgradeResult, texts: Mapping[str, bytes], *, is_confirmed: bool = False
) -> Iterator[LeftDecision]:
    """Yield what *result* leaves to a person; *texts* are the changed files as they are written, and
    *is_confirmed*: the user was asked about each change.
    """
    split = cache(stripped_lines)
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
        old = split(file.document.bytes)
        new = split(texts.get(path, file.document.bytes))
        places = dict.fromkeys((finding.place.line, finding.access_line))
        own = [old[number - 1] for number in places if 0 < number <= len(old)]
        adjacent = (
            [text for text in own if text in new]
            or [
                text
                for text in new
                for line in own
                if text.split()[:1] == line.split()[:1]  # moved with a copy
            ][:1]
        )
        written = [text for text in stripped_lines(b"\n".join(map(to_bytes, finding.new))) if text in new]
        about = (written if finding.edits else []) or adjacent
        yield LeftDecision(
            finding.rule,
            real_path(path),
            finding.place.line,
            finding.message,
            finding.advice,
            (finding.stays or finding.risk).value,
            finding.decision,
            finding.answers,
            tuple(map(to_text, filter(None, about))),
            tuple(map(to_text, filter(None, adjacent))),
            bool(finding.edits),
            _section_line(old, finding.place.line),
            finding.is_per_request,
            any(real_path(other.path) != real_path(path) for other in finding.elsewhere),
            finding.was_error,
            finding.is_bidirectional,
        )


def _section_line(lines: list[bytes], number: int) -> str:
    """Return the line that opens the section around line *number*, or that line if it opens one."""
    first = section_around(lines, number)[0]
    return to_text(lines[first - 1]) if number and lines[first - 1].startswith(b"<") else ""


class FoundDecision(NamedTuple):
    """A decision that an earlier upgrade left.

    Attributes:
        finding: about the present text.
        is_exempt: a comment exempts its line. `is_recorded`: that comment names the rule.
        covered: the finding at each line that the comment decides about.
    """

    finding: Finding
    is_exempt: bool = False
    is_recorded: bool = False
    covered: tuple[Finding, ...] = ()


def findings_left(
    left: Sequence[LeftDecision], files: Iterable[str], text_of: Callable[[str], bytes]
) -> Iterator[FoundDecision]:
    """Yield the decisions whose lines are in the present text of *files*. *text_of* returns the text of a
    file.

    A comment with the rule decides about the lines that the upgrade wrote in the section in which it stands,
    or beside it, and about the line for which it wrote them; one above a section about the lines of that.
    """
    places = {real_path(path): path for path in files} if left else {}
    read = cache(text_of)
    split = cache(stripped_lines)
    comments_of = cache(suppressions)
    for one in left:
        if one.path not in places:
            continue
        data = read(places[one.path])
        lines = split(data)
        if not set(map(to_bytes, one.about)) <= set(lines):
            continue
        about = _in_section(lines, _numbers(lines, one.about), one.section)
        comments = comments_of(data)
        numbers = dict.fromkeys((*about, *_in_section(lines, _numbers(lines, one.adjacent), one.section)))
        found = [number for number in numbers if number in comments]
        recorded = [number for number in found if one.rule in comments[number]]
        place = min(about or [one.line], key=lambda number: abs(number - one.line))
        finding = _finding(one, SourceLocation(places[one.path], place))
        if not recorded:
            yield FoundDecision(finding, any(not comments[number] for number in found))
            continue
        beside = {other for number in recorded for other in _beside(lines, number, numbers, one.section)}
        covered = dict.fromkeys((place, *recorded, *(number for number in numbers if number in beside)))
        at_lines = [_finding(one, SourceLocation(places[one.path], number)) for number in covered]
        if one.is_bidirectional:
            other = _OPPOSITE.get(Risk(one.risk))
            at_lines += [replace(each, risk=other) for each in at_lines] if other is not None else []
        yield FoundDecision(
            finding,
            is_exempt=True,
            is_recorded=True,
            covered=tuple(each for at_line in at_lines for each in at_each_line(at_line, lines)),
        )


def _in_section(lines: list[bytes], numbers: list[int], section: str) -> list[int]:
    """Return those of *numbers* that are in a section with the first line *section*; all if none is."""
    wanted = to_bytes(section)
    openings = [number for number, line in enumerate(lines, 1) if section and line == wanted]
    sections = [section_around(lines, number) for number in openings]
    inside = [number for number in numbers if any(number in one for one in sections)]
    return inside or numbers


def _beside(lines: list[bytes], number: int, numbers: Container[int], section: str) -> Iterator[int]:
    """Yield the lines of the section of line *number*, and those of *numbers* before and after it that
    nothing but comments and empty lines parts from it.

    The section is the one with the first line *section* if the line is in that.
    """
    wanted = to_bytes(section)
    openings = (at for at in range(number, 0, -1) if section and lines[at - 1] == wanted)
    around = next((one for at in openings if number in (one := section_around(lines, at))), None)
    block = around or section_around(lines, number)
    yield from block
    for step in (-1, 1):
        at = (block[-1] if step > 0 else block[0]) + step
        while 1 <= at <= len(lines) and (at in numbers or lines[at - 1][:1] in (b"", b"#")):
            yield at
            at += step


def written_answers(
    rule: str,
    about: Sequence[str],
    answers: tuple[str, ...],
    *,
    is_elsewhere: bool = False,
    has_own: bool = True,
) -> tuple[str, str]:
    """Return the answers to a question about lines *about* that an upgrade has written: yes keeps them.

    *answers* are those about the text of 2.2. *is_elsewhere*: further lines are in other files, and
    *has_own*: some are in the file of the question.
    """
    comment = f"# whimbrel: ignore[{rule}] above the line keeps the new text, and records that"
    if is_elsewhere:
        comment += f" here; ignore[{DIFFERENCE}] above its lines in other files, if nobody gains"
    others = len(about) - 1
    lines = f" and {count_noun(others, 'more line')}" if others > 0 else ""
    by_hand = f"no: correct `{cut(about[0], MAX_WRITTEN)}`{lines}" if about else "no: correct the line"
    if not has_own:  # the lines at this place are those of the text of 2.2
        by_hand = "no: correct what it wrote in other files"
    other = (one for one in answers if one.startswith(_WRITES) and _KEEPS not in one)
    return f"yes: {comment}", next(other, f"{by_hand} by hand")


def _finding(one: LeftDecision, place: SourceLocation) -> Finding:
    question = one.decision
    answers = one.answers
    advice = one.advice
    message = one.message
    risk = Risk(one.risk)
    if one.is_written:
        # what the old line did is over; an example of the comparison says what stays
        risk = Risk.CHANGES if risk is Risk.BREAKS else risk
        advice = "look at the lines that the upgrade wrote"
        question = question or f"Is what upgrade wrote right? {one.message}"
        message = OF_OLD + message
        answers = written_answers(
            one.rule,
            one.about,
            one.answers,
            is_elsewhere=one.is_elsewhere,
            has_own=not (one.is_elsewhere and set(one.about) <= set(one.adjacent)),
        )
    return Finding(
        one.rule,
        place,
        LEFT + message,
        advice,
        risk,
        decision=LEFT + (question or one.message),
        answers=answers,
        in_htaccess=one.is_per_request,
        was_error=one.was_error,
    )


def _numbers(lines: list[bytes], texts: tuple[str, ...]) -> list[int]:
    """Return the numbers of the lines that have one of *texts*."""
    wanted = set(map(to_bytes, texts))
    return [number for number, line in enumerate(lines, 1) if line in wanted]
