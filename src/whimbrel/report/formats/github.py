"""GitHub workflow commands of a report: one annotation for each entry."""

from __future__ import annotations

from typing import Final

from whimbrel.base.counts import count_noun
from whimbrel.base.terminal_text import shown
from whimbrel.report.decisions import answer_lines, counts_of
from whimbrel.report.knowledge import text_lines
from whimbrel.report.model import Report, ReportEntry, read_errors, title_of
from whimbrel.upgrade.model import Risk

COMMANDS: Final = {
    Risk.BREAKS: "error",
    Risk.OPENS: "error",
    Risk.CLOSES: "error",
    Risk.CHANGES: "warning",
    Risk.COSMETIC: "notice",
}


def render(report: Report) -> str:
    """Return one workflow command for each entry, then the counts as lines of text."""
    lines = [_command(entry, title_of(report, entry.rule)) for entry in report.entries]
    answers = map(
        shown, filter(None, (report.stop, *answer_lines(report)))
    )  # names of files begin no command
    return "\n".join([*lines, *answers, *report.inputs, *summary(report)]) + "\n"


def summary(report: Report) -> list[str]:
    """Return the counts and what is not known as lines of text."""
    return [*counts(report), *text_lines(report.scope, report.directory, read_errors(report.entries))]


def counts(report: Report) -> list[str]:
    """Return the counts as lines of text."""
    counted = counts_of(report.counted)
    lines = [
        f"{count_noun(report.lines, 'line')} in {count_noun(report.counted_files, 'file')}: "
        f"{count_noun(counted.findings, 'finding')}, {count_noun(counted.notes, 'note')}"
    ]
    lines += [f"  {effect_class.name}: {count}" for effect_class, count in report.by_effect().items()]
    lines += [f"  {part}" for part in counted.parts]
    if report.baselined:
        lines.append(f"  {count_noun(report.baselined, 'finding')} of the baseline not shown")
    return [*lines, report.lone_counts] if report.lone else lines


def _command(entry: ReportEntry, title: str) -> str:
    place = [f"file={_property(entry.path)}"] + ([f"line={entry.line}"] if entry.line else [])
    text = f"{entry.message}: {entry.advice}" if entry.advice else entry.message
    properties = ",".join([*place, f"title={_property(f'{entry.rule} {title}')}"])
    return f"::{COMMANDS[entry.risk]} {properties}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
