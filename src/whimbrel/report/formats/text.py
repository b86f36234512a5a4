"""Text of a report for people at a terminal: code frames, then the counts as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from whimbrel.base.counts import count_noun
from whimbrel.base.terminal_text import padded, shown, wrapped, wrapped_alike
from whimbrel.report.decisions import MORE_QUESTIONS, answer_lines, counts_of, last_lines, unread
from whimbrel.report.formats.frames import RISK_COLORS, FrameStyle, framed
from whimbrel.report.knowledge import first_start, start_line, text_lines, without_start_line
from whimbrel.report.model import (
    LONE_FILES,
    Report,
    ReportEntry,
    groups,
    read_errors,
)
from whimbrel.report.readiness import NOT_COMPARED, readiness
from whimbrel.upgrade.model import Risk

_RISK_WIDTH: Final = max(len(risk.value) for risk in Risk)
PLAIN: Final = FrameStyle()
MAX_SCREEN: Final = 20
"""Lines of findings that are one screen with their counts: the answer stands above more."""
MAX_DECISIONS: Final = 4
"""Decisions that the counts name."""
MAX_KNOWLEDGE: Final = 1200
"""Characters of a line about something that is not known."""


def render(
    report: Report,
    style: FrameStyle = PLAIN,
    *,
    summary_first: bool = False,
    next_command: str = "",
    explaining: Callable[[str], str] | None = None,
) -> str:
    """Return the answer, the kind of input, the findings (worst first, equal ones once), and the counts; the
    answer to findings of one screen stands behind them, and in short behind more.

    *summary_first*: the counts stand above the findings too. *next_command*: what to run after reading.
    *explaining* makes the command that explains a place.
    """
    frames = list(framed(groups(report.counted), style))
    lone = groups(entry for entry in report.entries if entry.is_lone)
    if lone:
        title = f"{LONE_FILES[0].upper()}{LONE_FILES[1:]}: no answer of the server depends on them"
        frames += [*wrapped(title, style.width), "", *framed(lone, style)]
    counts = list(table(report, style))
    answers = list(_answer(report, style))
    is_long = len(frames) > MAX_SCREEN
    is_on_top = is_long or (summary_first and bool(report.entries))
    last = list(_painted(last_lines(report, explaining), report, style)) if is_on_top else answers
    following = _following(report, style, next_command)
    lines: list[str] = []
    if summary_first and report.entries:
        lines += [*answers, *counts, *following]
    elif is_long:
        lines += [*answers, *wrapped(_head(report), style.width), *following]
    elif report.stop:
        lines += wrapped(shown(report.stop, MAX_KNOWLEDGE), style.width)
    lines += [line for text in report.inputs for line in wrapped(shown(text, MAX_KNOWLEDGE), style.width)]
    lines += [""] if lines and frames else []
    lines += [*frames, *counts, *last, *following]
    return "".join(f"{line}\n" for line in lines)


def _answer(report: Report, style: FrameStyle) -> Iterator[str]:
    """Yield what stops 2.4, what a person must decide, and who gains or loses access."""
    yield from _painted(answer_lines(report), report, style)


def _painted(texts: Iterable[str], report: Report, style: FrameStyle) -> Iterator[str]:
    """Yield what stops 2.4 and *texts*, as lines of the terminal."""
    missing = start_line(report.scope, report.directory)
    for text in filter(None, (report.stop, missing, *texts)):
        color = RISK_COLORS[Risk.BREAKS] if text == report.stop else ""
        lines = wrapped_alike(shown(text, MAX_KNOWLEDGE), style.width)
        yield from (style.paint(line, color) for line in lines)


def _following(report: Report, style: FrameStyle, next_command: str) -> list[str]:
    """Return what to do first, and the next command."""
    lines = []
    first = first_step(report)
    if first and not next_command.startswith("whimbrel explain "):
        lines += wrapped(f"First: {shown(first, MAX_KNOWLEDGE)}", style.width)
    if next_command and not report.findings:
        ready = readiness(
            report.entries,
            report.scope.deciding,
            NOT_COMPARED,
            no_start=first_start(report.scope, report.directory),
            directory=report.directory,
        )
        lines += wrapped(shown(ready, MAX_KNOWLEDGE), style.width)
    if next_command:  # whole: a command that is broken between words cannot be pasted
        lines.append(f"Next: {shown(next_command, MAX_KNOWLEDGE)}")
    return lines


def first_step(report: Report) -> str:
    """Return what to do before the next command, "" for nothing."""
    if report.fault:
        return f"correct {report.fault}"
    review = [entry for entry in report.counted if entry.needs_review]
    if is_waiting_for_files(report):
        return f"put what {unread(report.counted)[0].place} names in its place"
    if not review or any(entry.is_fixable for entry in report.entries):
        return ""
    return f"look at what needs review (whimbrel explain {review[0].rule})"


def is_waiting_for_files(report: Report) -> bool:
    """Return True if a text about modules is not here, so that nothing but it decides more."""
    entries = report.counted
    return not report.is_complete and bool(unread(entries)) and not any(one.is_fixable for one in entries)


def table(report: Report, style: FrameStyle = PLAIN) -> Iterator[str]:
    """Yield the counts: a row for each risk with what is left to do, then what is not known."""
    entries = report.counted
    yield from wrapped(_head(report), style.width)
    counts = report.by_effect()
    width = max((len(f"{count:,}") for count in counts.values()), default=1)
    name_width = max(_RISK_WIDTH, *(len(effect_class.name) for effect_class in counts), 0)
    for effect_class, count in counts.items():
        alike = [entry for entry in entries if entry.effect_class == effect_class]
        name = style.paint(padded(effect_class.name, name_width), RISK_COLORS[effect_class.risk])
        left_to_do = _left_to_do(alike)
        row = f"  {name}   {count:>{width},}   "
        used = 2 + name_width + 3 + width + 3
        if used + len(left_to_do) <= style.width:
            yield f"{row}{left_to_do}".rstrip()
        else:
            yield row.rstrip()
            yield from (f"    {line}" for line in wrapped(left_to_do, style.width - 4) if line)
    if report.baselined:
        yield from wrapped(
            f"  {count_noun(report.baselined, 'finding')} of the baseline not shown", style.width
        )
    if report.lone:
        yield from wrapped(report.lone_counts, style.width)
    for line in text_lines(without_start_line(report.scope), report.directory, read_errors(report.entries)):
        yield from wrapped_alike(shown(line, MAX_KNOWLEDGE), style.width)


def _head(report: Report) -> str:
    """Return the counts of files, lines, findings and notes."""
    counted = counts_of(report.counted)
    more = f"; {MORE_QUESTIONS}" if counted.is_compared and not report.is_part else ""
    what = f" ({', '.join(counted.parts)}{more})" if counted.findings else ""
    return (
        f"{count_noun(report.counted_files, 'file')}, {count_noun(report.lines, 'line')}: "
        f"{count_noun(counted.findings, 'finding')}{what}, {count_noun(counted.notes, 'note')}"
    )


def _left_to_do(entries: list[ReportEntry]) -> str:
    """Return what the findings among *entries* are: fixed, to decide, not read or waiting; and the notes."""
    counted = counts_of(entries)
    parts = counted.parts
    if counted.fixed == len(entries) > 1:
        parts = ["all changed by upgrade" if counted.is_compared else "all fixed by upgrade"]
    waiting = next((entry.waits_for for entry in entries if entry.waits_for), "")
    if counted.waiting:
        parts[-1] += f" for the correction of {shown(waiting)}"
    if counted.notes:
        parts.append(f"{counted.notes:,} with nothing to do" if counted.findings else "nothing to do")
    return ", ".join(parts)
