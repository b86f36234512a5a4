"""GitHub workflow commands of a report: one annotation for each entry."""

from __future__ import annotations

from typing import Final

from whimbrel.base.terminal_text import shown
from whimbrel.report.decisions import answer
from whimbrel.report.model import Report, ReportEntry, summary, title_of
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
    answers = map(shown, filter(None, (report.stop, *answer(report))))  # names of files begin no command
    return "\n".join([*lines, *answers, *report.inputs, *summary(report)]) + "\n"


def _command(entry: ReportEntry, title: str) -> str:
    place = [f"file={_property(entry.path)}"] + ([f"line={entry.line}"] if entry.line else [])
    text = f"{entry.message}: {entry.advice}" if entry.advice else entry.message
    properties = ",".join([*place, f"title={_property(f'{entry.rule} {title}')}"])
    return f"::{COMMANDS[entry.risk]} {properties}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
