"""Output of `whimbrel upgrade`: diffs, summary, JSON, a copy of the tree."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TextIO

from whimbrel.base.counts import count_noun, word_for
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.base.printable import printable
from whimbrel.base.real_paths import real_path
from whimbrel.base.terminal_text import shown, terminal_bytes, terminal_width, wrapped_alike
from whimbrel.cli.next_commands import command_of, first_of
from whimbrel.cli.options import EXIT_FINDINGS, EXIT_OK, EXIT_REVIEW, ColorMode, is_colored
from whimbrel.cli.terminal import write_bytes
from whimbrel.report.decisions import access_of_comparison, decisions_in_short, has_stop, open_question_texts
from whimbrel.report.entries import entry_of
from whimbrel.report.formats.frames import FrameStyle, frame, framed
from whimbrel.report.knowledge import as_json, first_start, text_lines
from whimbrel.report.model import LONE_FILES, ReportEntry, groups
from whimbrel.report.questions import question_lines
from whimbrel.report.readiness import readiness
from whimbrel.report.start_line import start_line, stops_of
from whimbrel.report.written_lines import WrittenLines, access_places
from whimbrel.upgrade.apply.backup_paths import places_of
from whimbrel.upgrade.apply.server_copy import ServerCopy
from whimbrel.upgrade.check.check import source_lines
from whimbrel.upgrade.check.diffs import diffs
from whimbrel.upgrade.check.fixpoint import UpgradeResult
from whimbrel.upgrade.edits.diff import display_path
from whimbrel.upgrade.model import READ_ERROR, Finding, InputContext
from whimbrel.upgrade.rules import rule_names
from whimbrel.upgrade.source.config_tree import Role
from whimbrel.upgrade.source.reading import described as inputs

if TYPE_CHECKING:
    from whimbrel.report.page.model import ReportPage

MAX_SUMMARY_LINE: Final = 1200
"""Characters of a line of the summary."""
MAX_IDLE: Final = 3
"""Unchanged .htaccess files that the summary of a copy names, and directories below which they answer 500."""
_COLORS: Final = {b"-": b"\x1b[31m", b"+": b"\x1b[32m", b"@": b"\x1b[36m", b"d": b"\x1b[1m"}


def show_diff(
    result: UpgradeResult,
    directory: str,
    *,
    colored: bool,
    may_page: bool = True,
    above: bytes = b"",
    only: frozenset[str] = frozenset(),
) -> None:
    """Print *above* and all diffs, or those of the files *only*, on standard output."""
    shown_diffs = []
    for path, diff in diffs(result, directory).items():
        if only and path not in only:
            continue
        if sys.stdout.isatty():  # a pipe, such as to patch(1), gets the bytes as they are
            diff = to_bytes(printable(to_text(diff)))
        shown_diffs.append(b"".join(map(_colored, diff.splitlines(keepends=True))) if colored else diff)
    write_bytes(b"".join([above, *shown_diffs]), may_page=may_page)


def _colored(line: bytes) -> bytes:
    color = _COLORS.get(line[:1])
    body = line.rstrip(b"\r\n")
    return color + body + b"\x1b[0m" + line[len(body) :] if color else line


def summary_text(
    result: UpgradeResult,
    directory: str,
    is_written: bool,
    stream: TextIO,
    color: ColorMode,
    *,
    verified: str = "",
    uncompared: str = "",
    following: Iterable[str] = (),
    copy: ServerCopy | None = None,
    backups: Iterable[str] = (),
    explaining: Callable[[str], str] | None = None,
) -> bytes:
    """Return the answer, the kind of input, findings that need review (equal ones once), decisions, other
    changes by rule, the answer again with the questions in short, and the lines *following* with the commands
    that come next, for *stream*.

    *verified* is a sentence about the comparison of answers; *uncompared*: see `readiness`. *copy*: the one
    that was written, None for the files in their own place, of which *backups* were made. *explaining* makes
    the command that explains a place.
    """
    style = FrameStyle(terminal_width(stream), is_colored(color, stream), rule_names())
    written = WrittenLines(result) if is_written and copy is None else None
    entries = _open_entries(result, directory, written)
    frames = list(framed(groups(entries), style, is_applied=True))
    ready = _readiness(result, entries, uncompared, directory)
    question_part = list(question_lines(open_question_texts(entries)))
    start = _start_line(result, directory, is_written=is_written and copy is None)
    access = list(_access(result, verified, entries, directory, is_written=written is not None))
    answer = [ready, start, *question_part, *access, verified]
    lines = _wrapped(filter(None, answer), style) if frames else []
    lines += _wrapped(inputs(result.tree, is_upgraded=result.tree.context is InputContext.SERVER), style)
    lines += ["", *frames] if frames else []
    lines += _wrapped(_counts(result, directory, is_written, copy, written), style)
    lines += _wrapped(_idle_copies(result, directory, copy) if copy else (), style)
    lines += _wrapped(filter(None, [places_of(backups, directory)]), style)
    last = answer[::-1]
    if frames:
        shows = explaining if copy is None else None
        last = [ready, *decisions_in_short(entries, shows), start, *access]
    lines += _wrapped(filter(None, last), style)
    lines += following  # whole: a command that is broken between words cannot be copied
    return terminal_bytes("".join(f"{line}\n" for line in lines))


def last_text(
    result: UpgradeResult,
    directory: str,
    stream: TextIO,
    color: ColorMode,
    *,
    verified: str,
    uncompared: str,
    following: Iterable[str],
    explaining: Callable[[str], str] | None,
) -> bytes:
    """Return the answer in short, and the lines *following*, for the end of a diff with a summary above it;
    nothing was written. The parameters are those of `summary_text`.
    """
    style = FrameStyle(terminal_width(stream), is_colored(color, stream), rule_names())
    entries = _open_entries(result, directory, None)
    ready = _readiness(result, entries, uncompared, directory)
    start = _start_line(result, directory, is_written=False)
    access = _access(result, verified, entries, directory)
    lines = _wrapped(filter(None, [ready, *decisions_in_short(entries, explaining), start, *access]), style)
    return terminal_bytes("".join(f"{line}\n" for line in (*lines, *following)))


def _open_entries(result: UpgradeResult, directory: str, written: WrittenLines | None) -> list[ReportEntry]:
    """Return the findings that need a review or a decision, with the lines of *written*, the new text."""
    findings = _left_to_do(result)
    texts = source_lines(result.tree, findings)
    entries = [entry_of(finding, directory, texts) for finding in findings]
    if written is None:
        return entries
    pairs = zip(entries, findings, strict=True)
    return [written.entry(entry, finding, directory) for entry, finding in pairs]


def write_to(stream: TextIO, data: bytes) -> None:
    """Write *data* to *stream* behind what it has."""
    stream.flush()
    stream.buffer.write(data)
    stream.flush()


def _access(
    result: UpgradeResult,
    verified: str,
    entries: Sequence[ReportEntry],
    directory: str,
    *,
    is_written: bool = False,
) -> Iterator[str]:
    """Yield who gains or loses access, if the answers were compared: *verified* is the sentence about it,
    *entries* the findings that need a review or a decision. *is_written*: the new text is at its places.
    """
    if not verified or any(item.subject == verified for item in result.scope.items):
        return
    yield access_of_comparison(access_places(result, is_written=is_written), entries, directory)


def _left_to_do(result: UpgradeResult) -> list[Finding]:
    """Return the findings about the server that need a review or a decision."""
    lone = result.tree.lone_paths
    return [
        finding
        for finding in result.findings
        if (finding.needs_review or finding.decision) and finding.place.path not in lone
    ]


def _lone_counts(result: UpgradeResult) -> Iterator[str]:
    """Yield a sentence about the files that no Include reads, if a change or a finding is in one of them."""
    lone = result.tree.lone_paths
    changed = sum(path in lone for path in result.files)
    review = sum(finding.needs_review and finding.place.path in lone for finding in result.findings)
    if changed or review:
        verb = word_for(review, "needs", "need")
        yield (
            f"{LONE_FILES}: {changed} of these {count_noun(len(lone), 'file')} to change, "
            f"{count_noun(review, 'finding')} there {verb} review (`whimbrel check` shows them)"
        )


def _counts(
    result: UpgradeResult,
    directory: str,
    is_written: bool,
    copy: ServerCopy | None,
    written: WrittenLines | None,
) -> Iterator[str]:
    """Yield remarks about startling edits, the changes by rule, what is not known, and the files."""
    applied = [finding for finding in result.findings if finding.edits]
    yield from _remarks(applied, directory, written)
    counts = Counter(finding.rule for finding in applied)
    if counts:
        counted_rules = [f"{rule} {count} times" if count > 1 else rule for rule, count in counts.items()]
        yield f"changes by rule: {', '.join(counted_rules)}"
    known = {finding.message for finding in result.findings if finding.rule == READ_ERROR}
    scope = stops_of(result).other_facts(result.scope)
    yield from text_lines(scope if written is None else written.scope(scope), directory, known)
    if is_written:
        where = f"changed in {copy.directory}" if copy else "changed"
        name = display_path if copy else _changed_path
        top = result.tree.disk.image if copy and copy.is_image else directory
        yield from (f"{where}: {name(path, top)}" for path in result.files)
    reading = len(result.tree.files)
    changed = f"{len(result.files)} {'changed' if is_written else 'to change'}"
    yield (
        f"{count_noun(reading, 'file')} read, {changed}, {count_noun(len(applied), 'change')}{_notes(result)}"
    )
    yield from _lone_counts(result)


def _changed_path(path: str, directory: str) -> str:
    """Return the name of the file that was written, with that of the link by which it was read."""
    name = display_path(path, directory)
    real = display_path(real_path(path), real_path(directory))
    return name if real == name else f"{real} (via {name})"


def _idle_copies(result: UpgradeResult, directory: str, copy: ServerCopy) -> Iterator[str]:
    """Yield what makes the copy a server of its own, and what it leaves as it is: the server in its place,
    and .htaccess files that servers read beside the documents.
    """
    yield from copy.facts
    if not result.files:
        return
    yield f"nothing is changed in {directory}: its server reads the old files until --write changes them"
    idle = [path for path in result.files if result.tree.files[path].role is Role.HTACCESS]
    if not idle or copy.is_image:
        return
    named = [*idle[:MAX_IDLE], *["..."] * (len(idle) > MAX_IDLE)]
    refused = [f"{os.path.dirname(path)} ({os.path.basename(path)}:{line})" for path, line in copy.refused]
    failing = [*refused[:MAX_IDLE], *["..."] * (len(refused) > MAX_IDLE)]
    effect = f"; until then it answers 500 below {', '.join(failing)}" if failing else ""
    yield (
        f"the server of {copy.directory} reads {count_noun(len(idle), 'old .htaccess file')} beside the "
        f"documents, which --write changes: {', '.join(named)}{effect}"
    )


def _wrapped(lines: Iterable[str], style: FrameStyle) -> list[str]:
    """Return *lines* as shown text with their indentation, broken between words."""
    out = []
    for line in lines:
        out += wrapped_alike(shown(line, MAX_SUMMARY_LINE), style.width)
    return out


def _remarks(applied: Iterable[Finding], directory: str, written: WrittenLines | None) -> Iterator[str]:
    """Yield the facts that explain startling edits, equal ones once with their first place."""
    places: dict[tuple[str, str], list[str]] = {}
    for finding in applied:
        if finding.remark and not finding.needs_review:
            entry = replace(entry_of(finding, directory), line=finding.place.line)
            place = (entry if written is None else written.entry(entry, finding, directory)).place
            remark = finding.remark
            if written is not None:
                remark = written.sentence(remark, directory, finding.place.path)
            places.setdefault((finding.rule, remark), []).append(place)
    for (rule, remark), found in places.items():
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        yield f"{found[0]}{more}: {rule}: {remark}"


def _notes(result: UpgradeResult) -> str:
    """Return the rules whose notes are about answers that no text keeps."""
    others = (finding for finding in result.findings if not (finding.needs_review or finding.waits_for))
    notes = dict.fromkeys(finding.rule for finding in others if not (finding.edits or finding.decision))
    return f", see the notes of `whimbrel check`: {', '.join(notes)}" if notes else ""


def ready_line(result: UpgradeResult, directory: str, uncompared: str) -> str:
    """Return the sentence about going live; *uncompared*: see `readiness`."""
    entries = [entry_of(finding, directory) for finding in _left_to_do(result)]
    return _readiness(result, entries, uncompared, directory)


def _readiness(result: UpgradeResult, entries: Sequence[ReportEntry], uncompared: str, directory: str) -> str:
    """Return the sentence about going live; *entries* are those that need review or a decision."""
    decided: tuple[Finding, ...] = ()
    if result.recorded:
        from whimbrel.verify.recorded_decisions import decided_by_comments  # most texts have no comments

        decided = decided_by_comments(result.recorded)
    return readiness(
        entries,
        result.scope.deciding,
        uncompared,
        result.version_causes,
        decided,
        no_start=first_start(result.scope, directory),
        directory=directory,
    )


def _start_line(result: UpgradeResult, directory: str, *, is_written: bool) -> str:
    is_open = has_stop(entry_of(finding, directory) for finding in _left_to_do(result))
    return start_line(result, directory, is_open=is_open, is_written=is_written)


def finding_lines(finding: Finding, directory: str) -> Iterator[str]:
    """Yield a finding as lines of shown text."""
    style = FrameStyle(terminal_width(), is_colored(ColorMode.auto), rule_names())
    return frame([entry_of(finding, directory)], style, is_applied=True)


def write_json(
    result: UpgradeResult,
    directory: str,
    is_written: bool,
    copy: ServerCopy | None,
    writing: str,
    uncompared: str = "",
) -> None:
    """Print one JSON document; bytes beyond ASCII are decoded as Latin-1. *writing* is the command that
    writes the result in place; *uncompared*: see `ready_line`.
    """
    json.dump(
        {
            "done": is_written,
            "input": list(inputs(result.tree, is_upgraded=True)),
            "passes": result.passes,
            "ready": ready_line(result, directory, uncompared),
            "knowledge": as_json(result.scope, directory),
            "read": [display_path(path, directory) for path in result.tree.files],
            "files": [
                {"path": display_path(path, directory), "diff": to_text(diff)}
                for path, diff in diffs(result, directory).items()
            ],
            "server_copy": {"directory": copy.directory, "facts": copy.facts, "go_live": writing}
            if copy is not None
            else None,
            "findings": [_as_json(finding, directory) for finding in result.findings],
        },
        sys.stdout,
        indent=1,
    )
    sys.stdout.write("\n")


def page_of(
    result: UpgradeResult,
    directory: str,
    *,
    is_written: bool,
    verified: str,
    uncompared: str,
    facts: Iterable[str],
    following: Iterable[str],
) -> ReportPage:
    """Return the page of HTML; *facts* are sentences about the result, *following* lines with the commands
    that come next; *verified*: see `summary_text`, *uncompared*: see `ready_line`.
    """
    from whimbrel.report.page.upgrade_page import upgrade_page

    open_entries = [entry_of(finding, directory) for finding in _left_to_do(result)]
    return upgrade_page(
        result,
        directory,
        diffs(result, directory),
        is_written=is_written,
        answer=(
            ready_line(result, directory, uncompared),
            _start_line(result, directory, is_written=False),
            *_access(result, verified, open_entries, directory),
            verified,
        ),
        questions=open_question_texts(open_entries),
        facts=(*facts, *(line for line in following if line.startswith(("To go live: ", "Then ")))),
        first=first_of("\n".join(following)),
        next_command=command_of("\n".join(following)),
    )


def exit_status(result: UpgradeResult, *, is_written: bool) -> int:
    """Return the exit status of the command."""
    if result.files and not is_written:
        return EXIT_FINDINGS
    is_open = result.has_open_findings or result.version_causes > 0
    return EXIT_REVIEW if is_open else result.scope.exit_code(EXIT_OK)


def _as_json(finding: Finding, directory: str) -> dict[str, Any]:
    via = finding.place.included_from
    return {
        "rule": finding.rule,
        "file": display_path(finding.place.path, directory),
        "line": finding.place.line,
        "included_from": str(via) if via else None,
        "message": finding.message,
        "advice": finding.advice,
        "risk": finding.risk.value,
        "effect": entry_of(finding, directory).effect,
        "safety": finding.safety.name.lower(),
        "applied": bool(finding.edits),
        "needs_review": finding.needs_review,
        "evidence": finding.evidence,
        "old": [{"line": number, "text": text} for number, text in finding.old],
        "new": list(finding.new),
        "decision": finding.decision,
    }
