"""The report of a replay as plain text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from whimbrel.base.counts import count_noun, word_for
from whimbrel.replay.causes import MAX_LINES
from whimbrel.replay.summary import Summary, top
from whimbrel.replay.tally import CausingLine, Change, ChangeKey
from whimbrel.report.knowledge import text_lines
from whimbrel.report.readiness import readiness_of_replay


def text_of(summary: Summary) -> str:
    """Return the report, ending in a line break."""
    return "\n".join(_lines(summary)) + "\n"


def _lines(summary: Summary) -> Iterator[str]:
    tally = summary.tally
    if not summary.is_against_log:
        yield f"old: {summary.old}"
    yield f"new: {summary.new}"
    yield from summary.errors
    ready = [sentence] if (sentence := readiness_of_replay(summary)) else []
    if summary.errors:
        yield from ready
        return
    requests = count_noun(tally.requests, "request")
    yield f"{count_noun(tally.lines, 'line')} of {', '.join(summary.logs)}: {requests}"
    yield from _skipped(summary)
    yield from text_lines(summary.scope)
    yield ""
    if summary.is_against_log:
        share = _percent(summary.not_as_logged, tally.requests)
        yield f"{summary.not_as_logged} of {requests} get another status than was logged ({share})"
    elif not tally.changes:
        yield "Nothing changes." if summary.scope.is_complete else "Nothing changes in what is known."
    else:
        verb = word_for(tally.changed, "changes", "change")
        share = _percent(tally.changed, tally.requests)
        yield f"{count_noun(tally.changed, 'request')} {verb} ({share}):"
    for key, change in summary.changes:
        yield ""
        yield from _change(key, change, summary.roots)
    yield ""
    yield from _log(summary)
    yield from ready


def _skipped(summary: Summary) -> Iterator[str]:
    tally = summary.tally
    for number, what in (
        (tally.malformed, "lines have another format"),
        (tally.huge, "lines are too long"),
        (tally.without_request, "lines contain no request"),
    ):
        if number:
            yield f"{number} {what}"
    for example in tally.malformed_examples:
        yield f"    {example}"


def _change(key: ChangeKey, change: Change, roots: tuple[str, ...]) -> Iterator[str]:
    yield f"{count_noun(change.requests, 'request')}: {key.what}"
    for side, lines in (("old", key.old), ("new", key.new)):
        for line in lines[:MAX_LINES]:
            yield f"    {side}: {place(line, roots)}"
        if len(lines) > MAX_LINES:
            yield f"    {side}: and {len(lines) - MAX_LINES} more (--format json has all)"
    if key.reason:
        yield f"    {key.reason}"
    elif not key.old and not key.new:
        yield "    no line differs: a default of the dialect"
    for what, names in (
        ("clients", change.clients),
        ("users", change.users),
        ("hosts", change.hosts),
        ("paths", change.paths),
    ):
        if names:
            yield f"    {what}: {names_of(names)}"
    for example in change.examples:
        yield f"    {example}"


def place(line: CausingLine, roots: tuple[str, ...] = ()) -> str:
    """Return file, line and text; files below one of *roots* relative to it."""
    root = next((one for one in roots if line.file.startswith(f"{one.rstrip('/')}/")), "")
    file = line.file[len(root.rstrip("/")) + 1 :] if root else line.file
    where = f"{file}:{line.line}" if line.line else file
    return f"{where}: {line.text}" if line.text else where


def names_of(names: Counter[str]) -> str:
    """Return the most frequent names with their numbers."""
    shown = top(names)
    listed = ", ".join(f"{each['name']} ({each['requests']})" for each in shown)
    return listed if len(names) <= len(shown) else f"{listed} and {len(names) - len(shown)} more"


def _log(summary: Summary) -> Iterator[str]:
    share = _percent(summary.as_logged, summary.tally.requests)
    verb = word_for(summary.as_logged, "has", "have")
    yield f"{count_noun(summary.as_logged, 'request')} {verb} the status that was logged ({share})"
    for (logged, now), number in summary.statuses:
        example = summary.tally.status_examples.get((logged, now), "")
        requests = count_noun(number, "request")
        yield f"    {requests}: logged {logged}, now {now}" + (f": {example}" if example else "")


def _percent(part: int, total: int) -> str:
    return f"{100 * part / total:.2f} %" if total else "0 %"
