"""The report of a replay as plain text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from whimbrel.base.counts import count_noun, word_for
from whimbrel.base.dialect import V22, V24
from whimbrel.replay.causes import MAX_LINES
from whimbrel.replay.summary import NO_HOST, STATUS, Summary, comments_of_change, risk_of, top
from whimbrel.replay.tally import CausingLine, Change, ChangeKey, StatusReason, Tally
from whimbrel.report.knowledge import text_lines
from whimbrel.report.questions import question_lines
from whimbrel.report.readiness import readiness_of_replay
from whimbrel.upgrade.model import Risk

SCREEN: Final = 24
"""Lines of a text that a person sees at once."""
_REFUSALS: Final = frozenset(("401", "403"))
_LOGINS: Final[dict[tuple[str, ...], str]] = {
    ("401", "403"): "users who log in may lose access",
    ("403", "401"): "users who log in may gain access",
}
"""What another refusal means for users whom a log does not name."""


def text_of(summary: Summary) -> str:
    """Return the report, ending in a line break: the answer, what was read, changes (cosmetic ones last);
    behind more than a screen the first line of the answer again.
    """
    lines = list(_lines(summary))
    answers = (readiness_of_replay(summary), *answer(summary)) if len(lines) > SCREEN else ()
    return "\n".join((*lines, *[text for text in answers if text and not summary.errors][:1])) + "\n"


def _lines(summary: Summary) -> Iterator[str]:
    tally = summary.tally
    ready = [sentence] if (sentence := readiness_of_replay(summary)) else []
    question_part = question_lines(summary.questions, summary.to_decide)
    answers = [*ready, *([] if summary.errors else answer(summary)), *question_part]
    yield from filter(None, (summary.documents,))
    yield from answers
    if not summary.is_against_log:
        yield f"old: {summary.old}"
    yield f"new: {summary.new}"
    yield from summary.errors
    if summary.errors:
        return
    requests = count_noun(tally.requests, "request")
    yield f"{count_noun(tally.lines, 'line')} of {', '.join(summary.logs)}: {requests}"
    yield from _skipped(summary)
    yield from text_lines(summary.scope)
    is_between = summary.dialects == (V22.name, V24.name)
    for key, change in summary.changes:
        yield ""
        decided = summary.decided.get(key, ())
        yield from _change(key, change, summary.roots, decided, is_recordable=is_between)
    yield ""
    yield from _log(summary)


def answer(summary: Summary) -> list[str]:
    """Return how many requests change, how much, and who gains or loses access."""
    tally = summary.tally
    requests = summary.compared
    if summary.is_against_log:
        share = _percent(summary.not_as_logged, summary.comparable)
        gets = word_for(summary.not_as_logged, "gets", "get")
        what = f"{gets} another status than was logged ({share})"
        return [f"{summary.not_as_logged:,} of {requests} {what}{summary.left_out}"]
    if not tally.requests:
        return ["No request was replayed."]
    if not tally.changes and summary.not_compared:
        return [f"{requests}: none is answered otherwise{summary.left_out}"]
    if not tally.changes:
        return ["Nothing changes." if summary.is_known else "Nothing changes in what is known."]
    rules = sorted({key.rule for key in tally.changes if key.rule})
    cosmetic = sum(change.requests for key, change in tally.changes.items() if key.rule)
    status = sum(change.requests for key, change in tally.changes.items() if STATUS.search(key.what))
    otherwise = tally.changed - cosmetic - status
    parts = [f"{status:,} {word_for(status, 'changes its status', 'change their status')}"]
    parts.append(f"{otherwise:,} otherwise")
    in_cosmetic = f"{cosmetic:,} in what is cosmetic ({', '.join(rules)})"
    if not status and not otherwise:
        parts = [f"none is answered otherwise, but for {in_cosmetic}"]
    else:
        parts += [in_cosmetic] if cosmetic else []
    return [f"{requests}: {', '.join(parts)}{summary.left_out}", _access(summary)]


def logged_as_before(summary: Summary) -> str:
    """Return the number of requests that have the status that was logged, as a sentence without its dot, and
    of how many others the log has no status.
    """
    count = summary.as_logged
    others = summary.tally.requests - summary.with_status
    if others and summary.with_status:
        lines = f"the lines of {others:,} others log none"
        run = "that were run and whose line has a status" if summary.not_run else "with a logged status"
        return f"{count:,} of {summary.comparable:,} requests {run} have it, {lines}"
    if others:
        return f"no line logs a status: {count_noun(others, 'request')} cannot be compared with one"
    return f"{count_noun(count, 'request')} {word_for(count, 'has', 'have')} the status that was logged"


def _access(summary: Summary) -> str:
    """Return the numbers of requests that gain or lose access."""
    counts = dict.fromkeys(Risk, 0)
    others = 0
    for key, change in summary.changes:
        risk = risk_of(key)
        counts[risk] += change.requests
        is_other = risk in (Risk.OPENS, Risk.CLOSES) and not key.is_of_access
        others += change.requests if is_other else 0
    none = "no logged request gains or loses it"
    if summary.not_compared:
        none = f"none of {summary.compared} gains or loses it"
    gains = counts[Risk.OPENS]
    loses = counts[Risk.CLOSES]
    refused = "".join(f"; {one}" for one in _other_refusals(summary))
    if not gains and not loses:
        return f"access: {none}{refused}"
    gaining = f"{count_noun(gains, 'request')} {word_for(gains, 'gains', 'gain')} it"
    by_others = f" ({others:,} by another line than those of access control)" if others else ""
    return f"access: {gaining}, {loses:,} {word_for(loses, 'loses', 'lose')} it{by_others}{refused}"


def _other_refusals(summary: Summary) -> Iterator[str]:
    """Yield what is said of requests that both sides refuse, each with another status.

    A log may lack users, and 401 asks for one: behind 403 a login is in vain.
    """
    numbers = dict.fromkeys(_LOGINS, 0)
    others = 0
    for key, change in summary.changes:
        found = STATUS.search(key.what)
        statuses = found.groups() if found is not None else ()
        if statuses in numbers:
            numbers[statuses] += change.requests
        elif not _REFUSALS.isdisjoint(statuses) and risk_of(key) not in (Risk.OPENS, Risk.CLOSES):
            others += change.requests
    for statuses, number in numbers.items():
        if number:
            got = f"{count_noun(number, 'request')} {word_for(number, 'gets', 'get')} {statuses[1]}"
            yield f"{got} in the place of {statuses[0]}: {_LOGINS[statuses]}"
    if others:
        yield f"{count_noun(others, 'request')} {word_for(others, 'gets', 'get')} another refusal"


def taken_for(tally: Tally) -> Iterator[str]:
    """Yield whose requests those of lines without a host are, where one virtual host logs in their format."""
    for sentence, number in sorted(tally.taken_for.items()):
        yield f"{count_noun(number, 'request')} of lines without a host: {sentence}"


def _skipped(summary: Summary) -> Iterator[str]:
    tally = summary.tally
    yield from taken_for(tally)
    for number, what in (
        (tally.malformed, ("line has another format", "lines have another format")),
        (tally.huge, ("line is too long", "lines are too long")),
        (tally.without_request, ("line contains no request", "lines contain no request")),
    ):
        if number:
            yield f"{count_noun(number, *what)}"
    for example in tally.malformed_examples:
        yield f"    {example}"


def _change(
    key: ChangeKey,
    change: Change,
    roots: tuple[str, ...],
    decided: tuple[str, ...] = (),
    *,
    is_recordable: bool = False,
) -> Iterator[str]:
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
    if decided:
        yield f"    decided in the text: {', '.join(decided)}"
    elif is_recordable and (comments := comments_of_change(key, change)):
        yield "    this records in the main file that the answers of 2.4 are wanted:"
        yield from (f"        {comment}" for comment in comments)
    for what, names in (
        ("clients", change.clients),
        ("users", change.users),
        ("hosts", change.hosts),
        ("paths", change.paths),
    ):
        if set(names) - {NO_HOST}:
            yield f"    {what}: {names_of(names)}"
    for example in change.examples:
        yield f"    {example}"


def place(line: CausingLine, roots: tuple[str, ...] = ()) -> str:
    """Return file, line and text; files below one of *roots* relative to it."""
    root = next((one for one in roots if line.file.startswith(f"{one.rstrip('/')}/")), "")
    file = line.file[len(root.rstrip("/")) + 1 :] if root else line.file
    where = f"{file}:{line.line}" if line.line else file
    return f"{where}: {line.text}" if line.text else where


def reason_texts(reason: StatusReason, roots: tuple[str, ...] = ()) -> list[str]:
    """Return the lines of *reason* as texts, or its sentence; nothing where neither is known."""
    return [place(line, roots) for line in reason.lines] or [text for text in (reason.sentence,) if text]


def names_of(names: Counter[str]) -> str:
    """Return the most frequent names with their numbers."""
    shown = top(names)
    listed = ", ".join(f"{each['name']} ({each['requests']})" for each in shown)
    return listed if len(names) <= len(shown) else f"{listed} and {len(names) - len(shown)} more"


def _log(summary: Summary) -> Iterator[str]:
    is_known = summary.with_status or not summary.tally.requests
    share = f" ({_percent(summary.as_logged, summary.comparable)})" if is_known else ""
    not_run = (
        f"; {summary.not_run:,} {word_for(summary.not_run, 'was', 'were')} not run" if summary.not_run else ""
    )
    yield f"{logged_as_before(summary)}{share}{not_run}"
    for (logged, now), number in summary.statuses:
        example = summary.tally.status_examples.get((logged, now), "")
        requests = count_noun(number, "request")
        who = f"both versions answer {now}" if summary.is_of_both(logged, now) else f"now {now}"
        yield f"    {requests}: logged {logged}, {who}" + (f": {example}" if example else "")
        reason = summary.tally.status_reasons.get((logged, now))
        if reason is not None:
            yield from (f"        because: {text}" for text in reason_texts(reason, summary.roots))


def _percent(part: int, total: int) -> str:
    return f"{100 * part / total:.2f} %" if total else "0 %"
