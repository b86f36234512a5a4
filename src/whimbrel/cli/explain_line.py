"""`whimbrel explain FILE:LINE`: what stands at a line of a configuration, and what `check` finds there.

Exit codes: 0 explained; 2 no such file or line, or nothing could be read.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from whimbrel.base.counts import count_noun
from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import from_system, to_bytes, to_system
from whimbrel.base.real_paths import real_path
from whimbrel.base.terminal_text import shown, terminal_width, wrapped_alike
from whimbrel.cli.explain_backups import has_backups
from whimbrel.cli.next_commands import command_line
from whimbrel.cli.options import ColorMode, ConfigArguments, is_colored, sources
from whimbrel.cli.parts_of_servers import server_around
from whimbrel.cli.terminal import write_text
from whimbrel.syntax.lines import logical_lines
from whimbrel.upgrade.edits.diff import display_path
from whimbrel.utilities.usage_error import UsageError

if TYPE_CHECKING:
    from whimbrel.report.model import Report, ReportEntry
    from whimbrel.upgrade.apply.written_edits import WrittenEdit
    from whimbrel.upgrade.source.reading import Sources

_OPENING: Final = re.compile(r"<([A-Za-z][\w]*)")
_CLOSING: Final = re.compile(r"</([A-Za-z][\w]*)")


class JoinedLine(NamedTuple):
    """A directive with the numbers of its first and last line: a backslash at the end joins lines."""

    first: int
    last: int
    text: str


RECORD: Final = "First: write one of these answers into the text"


def explain_line(
    path: str, number: int, named: ConfigArguments, *, as_json: bool = False, may_page: bool = True
) -> None:
    """Print line *number* of *path*, a file of the server *named*, or of the one around it.

    Raises UsageError.
    """
    from whimbrel.cli.check import run_check
    from whimbrel.upgrade.apply.written_texts import edits_at
    from whimbrel.upgrade.check.check import Selection
    from whimbrel.upgrade.model import UpgradeOptions

    parts, place, argument = place_of(path, named)
    lines = _lines_of(place)
    line = next((one for one in lines if one.first <= number <= one.last), None)
    if line is None:
        raise UsageError(f"{path}: the file has {count_noun(lines[-1].last if lines else 0, 'line')}")
    report = run_check([parts], Selection(), 1, UpgradeOptions())
    if all(real_path(path_of(report, file)) != real_path(place) for file in report.files):
        raise UsageError(f"{path}: {argument} does not read this file")
    around = sections_around(lines, line)
    entries = [entry for entry in report.entries if _is_at(entry, report, place, line)]
    written = edits_at(place, read_regular(to_bytes(place)), line.first, [real_path(parts[1])])
    rule = next(iter((*_rules_of(entries), *(edit.rule for edit in written))), "")
    more = f"{command_line('explain', rule)}" if rule else ""
    following = _following(parts, argument, entries)
    if as_json:
        document = {
            "file": display_path(place, report.directory),
            "line": number,
            "text": line.text,
            "sections": [{"line": one.first, "text": one.text} for one in around],
            "written": [
                {
                    "rule": edit.rule,
                    "message": edit.message,
                    "old": [{"line": old, "text": text} for old, text in edit.old],
                }
                for edit in written
            ],
            "findings": [as_dict(entry) for entry in entries],
            "more": more,
            "next": following,
        }
        write_text(json.dumps(document, indent=1) + "\n", may_page=may_page)
        return
    texts = list(_head(display_path(place, report.directory), line, around))
    if any(real_path(path_of(report, file)) == real_path(place) for file in report.lone):
        texts.append(f"no Include of {shown(argument)} reads this file")
    texts += _of_upgrade(written, place, report.directory)
    texts += _findings(report, entries, is_written=bool(written))
    questions = choices(entries)
    texts += [*questions, RECORD] if questions else []
    if not entries and line.text[:1] not in ("", "#"):
        texts += _findings_around(report, place, around)
    texts += [f"More about {rule_name(report, rule)}: {more}"] if more else []
    texts.append(f"Next: {shown(following)}")
    write_text("".join(f"{text}\n" for text in texts), may_page=may_page)


def _rules_of(entries: Sequence[ReportEntry]) -> list[str]:
    """Return the rules of *entries*: what a person must decide comes first."""
    return [entry.rule for entry in sorted(entries, key=lambda one: not (one.needs_review or one.decision))]


def rule_name(report: Report, rule: str) -> str:
    return " ".join(filter(None, (rule, report.names.get(rule, ""))))


def _following(parts: tuple[Sources, str], argument: str, entries: Sequence[ReportEntry]) -> str:
    """Return the command after the choices are made: it changes the text, or looks at it again."""
    if any(entry.is_fixable for entry in entries):
        return command_line("upgrade", argument)
    if parts[0].options is not None and has_backups(parts[1]):
        return command_line("verify", "--backups", argument)
    return command_line("check", argument)


def sections_around(lines: Sequence[JoinedLine], line: JoinedLine) -> list[JoinedLine]:
    """Return the opening lines of the sections around *line*, outermost first."""
    opened: list[tuple[str, JoinedLine]] = []
    for one in lines:
        closing = _CLOSING.match(one.text)
        if closing is not None:
            name = closing[1].lower()
            at = next((at for at in range(len(opened) - 1, -1, -1) if opened[at][0] == name), None)
            if at is not None and one is not line:
                del opened[at:]
            elif at is not None:
                del opened[at + 1 :]
        if one is line:
            break
        opening = _OPENING.match(one.text)
        if opening is not None:
            opened.append((opening[1].lower(), one))
    return [section for _, section in opened]


def place_of(path: str, named: ConfigArguments) -> tuple[tuple[Sources, str], str, str]:
    """Return what is read with its directory, the file, and the argument that names what is read.

    A relative path is one of the working directory, or of the server. Raises UsageError.
    """
    is_named = bool(named.paths or named.root or named.file)
    if is_named:
        parts = sources(named)
        directories = [*map(os.fspath, named.paths), *_directory_of_main(parts[0]), parts[1]]
        places = [path, *(os.path.join(from_system(one), path) for one in directories)]
        place = next((one for one in places if os.path.isfile(to_bytes(one))), places[-1])
        argument = os.fspath(next(iter((*named.paths, named.root, named.file)), "") or named.file or "")
        if not os.path.isfile(to_bytes(place)):
            raise UsageError(f"{path}: no such file here, nor in {parts[1]}")
        return parts, os.path.abspath(place), from_system(str(argument))
    place = os.path.abspath(path)
    root = server_around(os.path.realpath(to_bytes(place)))
    argument = root or path
    return sources(ConfigArguments([Path(to_system(argument))])), place, argument


def _directory_of_main(found: Sources) -> list[str]:
    """Return the directory of the main file, which is not always below the server root (SUSE)."""
    if found.options is None:
        return []
    return [os.path.dirname(os.path.join(found.options.server_root, found.options.file))]


def path_of(report: Report, path: str) -> str:
    return os.path.join(report.directory or os.getcwd(), path)


def _is_at(entry: ReportEntry, report: Report, place: str, line: JoinedLine) -> bool:
    """Return True if *entry* is about *line*: it stands there, or its edit removes the line."""
    if entry.is_old or real_path(path_of(report, entry.path)) != real_path(place):
        return False
    numbers = (entry.line, *(number for number, _ in entry.old))
    return any(line.first <= number <= line.last for number in numbers)


def _lines_of(path: str) -> list[JoinedLine]:
    """Return the lines of a file as httpd joins them, comments and empty ones as well. Raises UsageError."""
    try:
        data = read_regular(to_bytes(path))
    except OSError as problem:
        raise UsageError(f"{path}: {problem.strerror}") from None
    lines: list[JoinedLine] = []
    for line in logical_lines(data):
        first = lines[-1].last + 1 if lines else 1
        lines.append(JoinedLine(first, line.number, " ".join(line.text.split())))
    return lines


def _head(path: str, line: JoinedLine, around: Sequence[JoinedLine]) -> Iterator[str]:
    """Yield the place with its line, and the sections around it."""
    yield f"{shown(path)}:{line.first}  {shown(line.text) or '(an empty line)'}"
    for number, section in enumerate(around):
        label = "in" if not number else ""
        yield f"{label:4}{'  ' * number}{shown(section.text)}  {shown(path)}:{section.first}"
    if not around:
        yield "in  no section of this file"
    yield ""


def _of_upgrade(written: Sequence[WrittenEdit], place: str, directory: str) -> Iterator[str]:
    """Yield the rule by which `upgrade` wrote the line, with the lines of 2.2 in its place."""
    from whimbrel.upgrade.rules import rule_names

    names = rule_names()
    path = display_path(place, directory)
    top = f"{directory.rstrip('/')}/"
    for edit in written:
        rule = " ".join(filter(None, (edit.rule, names.get(edit.rule, ""))))
        message = shown(edit.message.replace(top, ""))
        yield f"written by upgrade, {rule}. Of the text of 2.2 that says: {message}"
        for number, text in edit.old:
            yield f"    2.2 had  {shown(text)}  {shown(path)}:{number}"
        if not edit.old:
            yield "    2.2 had no line in its place"


def _findings(report: Report, entries: list[ReportEntry], *, is_written: bool = False) -> Iterator[str]:
    """Yield the findings as `check` prints them, or that there is none."""
    from whimbrel.report.formats.frames import FrameStyle, framed
    from whimbrel.report.model import groups

    if not entries:
        yield f"check finds nothing {'else ' if is_written else ''}at this line"
        return
    style = FrameStyle(terminal_width(), is_colored(ColorMode.auto), report.names)
    yield from framed(groups(entries), style)


def choices(entries: Sequence[ReportEntry]) -> list[str]:
    """Return what each answer to the questions of *entries* leads to, with the place of a comment."""
    from whimbrel.report.decisions import open_question_texts
    from whimbrel.report.questions import question_lines

    lines = question_lines(open_question_texts(entries), "to decide:")
    return [piece for line in lines for piece in wrapped_alike(shown(line), terminal_width())]


def _findings_around(report: Report, place: str, around: Sequence[JoinedLine]) -> Iterator[str]:
    """Yield the findings at the opening lines of the sections around a line: they may be about it."""
    for section in around:
        for entry in report.entries:
            if _is_at(entry, report, place, section):
                name = report.names.get(entry.rule, "")
                where = f"{shown(entry.path)}:{entry.line}"
                yield f"about the section around it: {where}: {entry.rule} {name}".rstrip()


def as_dict(entry: ReportEntry) -> dict[str, object]:
    """Return a finding for JSON, with the keys of `check --format json`."""
    return {
        "rule": entry.rule,
        "line": entry.line,
        "message": entry.message,
        "advice": entry.advice,
        "risk": entry.risk.value,
        "needs_review": entry.needs_review,
        "fixable": entry.is_fixable,
        "decision": entry.decision,
    }
