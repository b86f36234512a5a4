"""The sentence about going live: may the new text serve under 2.4, and what stands against it.

An upgrade, a comparison and a replay of logs each end with one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from whimbrel.base.counts import count_noun, word_for
from whimbrel.base.dialect import V22, V24
from whimbrel.base.static_typing import TYPE_CHECKING
from whimbrel.report.decisions import has_stop, is_to_decide, to_decide
from whimbrel.report.model import ReportEntry
from whimbrel.upgrade.check.fixpoint import NOT_VERIFIED
from whimbrel.upgrade.knowledge.scope import KnowledgeScope, UnknownKind

if TYPE_CHECKING:
    from whimbrel.replay.summary import Summary
    from whimbrel.verify.side import LoadError
    from whimbrel.verify.verification import DifferenceGroup, VerifyResult


READY: Final = "ready for 2.4: "
"""What the sentence begins with."""
MAX_PLACES: Final = 4
"""Places of causes that a sentence names."""
NOT_COMPARED: Final = "a check compares no answers"
"""The reason why nothing but a comparison decides a text without findings."""


def readiness(entries: Sequence[ReportEntry], unknown: int, uncompared: str, version_causes: int = 0) -> str:
    """Return ``ready for 2.4: `` with yes, no, not yet or not decided, and the reason.

    *unknown* counts the facts that are not known and may matter. *uncompared* is the reason why the answers
    of both versions were not compared, "" where they were. *version_causes*: see `UpgradeResult`.
    """
    open_work = [to_decide(entries)] if any(map(is_to_decide, entries)) else []
    unread = [entry for entry in entries if entry.needs_review and not is_to_decide(entry)]
    verdict = "yes"
    reasons = ["nothing is left to do by hand"]
    if open_work:
        verdict = "no" if has_stop(entries) else "not yet"
        reasons = open_work + [uncompared] * uncompared.startswith(NOT_VERIFIED)
    elif unread or unknown or uncompared:
        verdict = "not decided"
        reasons = (
            [f"{count_noun(len(unread), 'place')} could not be read: {unread[0].place}"] if unread else []
        )
        reasons += [_unknown(unknown)] if unknown and not unread else []
        reasons += [uncompared] if uncompared else []
    elif version_causes:
        verdict = "not yet"
        lie = word_for(version_causes, "lies", "lie")
        causes = f"{count_noun(version_causes, 'cause')} of other answers {lie} in the versions alone"
        reasons = [
            f"{causes} (`whimbrel verify` shows what records {word_for(version_causes, 'it', 'them')})"
        ]
    return f"{READY}{verdict}: {', '.join(reasons)}"


def readiness_of_comparison(verification: VerifyResult) -> str:
    """Return the same for a comparison of a text of 2.2 with one of 2.4; "" for other versions."""
    if verification.dialects != (V22.name, V24.name):
        return ""
    from whimbrel.verify.verification import CUT, comments_sentence  # for a comparison alone

    groups = verification.causes_to_review
    refused = sum(group.kind == "access" or group.opens or group.closes for group in groups)
    unknown = len(verification.not_decided) + len(verification.scope.deciding)
    old, new = verification.errors
    verdict = "yes"
    reason = "no answer differs"
    if verification.groups or verification.decided_facts:
        reason += f", but for {verification.excepted_note}"
    decided = comments_sentence(verification.by_comments)
    reason += f"; {decided}" if decided else ""
    if new:
        verdict = "no"
        reason = f"the new configuration does not load{_place_of(new[0])}"
    elif old and not _written(verification.scope):
        verdict = "not decided"
        reason = f"the old configuration does not load{_place_of(old[0])}, so nothing was compared"
    elif written := _written(verification.scope):
        verdict = "not decided"
        reason = written
    elif refused:
        verdict = "no"
        reason = f"{count_noun(refused, 'cause')} of access that differs"
    elif groups:
        verb = word_for(len(groups), "is", "are")
        other = f"{count_noun(len(groups), 'cause')} of other answers {verb} to review{_causes(groups)}"
        other += _about_names(groups)
        verdict, reason = _unready(other, verification.to_decide, has_stop=verification.has_stop)
    elif verification.to_decide:
        verdict, reason = _unready("", verification.to_decide, has_stop=verification.has_stop)
    elif verification.no_start:
        verdict = "not yet"
        reason = f"it does not start here: {verification.no_start}"
    elif verification.is_cut:
        verdict = "not decided"
        reason = CUT
    elif unknown:
        verdict = "not decided"
        reason = _unknown(unknown)
    return _with_unwritten(verification.unwritten, verdict, reason)


def readiness_of_replay(summary: Summary) -> str:
    """Return the same for logged requests under a text of 2.2 and one of 2.4; "" for other versions."""
    if summary.dialects != (V22.name, V24.name):
        return ""
    from whimbrel.verify.verification import comments_sentence

    tally = summary.tally
    total = count_noun(tally.requests, "request")
    other = sum(change.requests for key, change in tally.changes.items() if not summary.is_excepted(key))
    verdict = "yes"
    reason = f"none of {total} changes"
    reason += f" but for what is {summary.excepted_note}" if tally.changed else ""
    if summary.decided_facts:
        facts = count_noun(len(summary.decided_facts), "unknown fact")
        reason += f"; {facts} decided in the text: {', '.join(dict.fromkeys(summary.decided_facts))}"
    decided = comments_sentence(summary.by_comments)
    reason += f"; {decided}" if decided else ""
    if summary.errors:
        verdict = "no"
        reason = "a configuration does not load"
    elif written := _written(summary.scope):
        verdict = "not decided"
        reason = written
    elif summary.sources_sent:
        verdict = "no"
        gets = word_for(summary.sources_sent, "gets", "get")
        reason = f"{summary.sources_sent:,} of {total} {gets} the source of a program that ran before"
    elif summary.status_changes:
        verdict = "no"
        words = word_for(summary.status_changes, "changes its status", "change their status")
        reason = f"{summary.status_changes:,} of {total} {words}"
    elif other:
        changes = f"{other:,} of {total} {word_for(other, 'changes', 'change')}, none its status"
        verdict, reason = _unready(changes, summary.to_decide, has_stop=summary.has_stop)
    elif summary.to_decide:
        verdict, reason = _unready("", summary.to_decide, has_stop=summary.has_stop)
    elif summary.no_start:
        verdict = "not yet"
        reason = f"it does not start here: {summary.no_start}"
    elif not tally.requests:
        verdict = "not decided"
        reason = "no request was replayed"
    elif summary.scope.deciding:
        verdict = "not decided"
        reason = _unknown(len(summary.scope.deciding))
    return _with_unwritten(summary.unwritten, verdict, reason)


def _with_unwritten(unwritten: str, verdict: str, reason: str) -> str:
    """Return the sentence; of a copy that answers 500 with the old .htaccess files, that comes first."""
    if unwritten and verdict in ("yes", "not decided", "not yet"):
        reason = unwritten if verdict == "yes" else f"{unwritten}; {reason}"
        verdict = "not yet"
    return f"{READY}{verdict}: {reason}"


def _unready(differences: str, to_decide: str, *, has_stop: bool) -> tuple[str, str]:
    """Return the verdict, and its reasons, "" for none: that with which 2.4 does not start is the first."""
    is_stopped = bool(to_decide) and has_stop
    reasons = (to_decide, differences) if is_stopped else (differences, to_decide)
    return "no" if is_stopped else "not yet", "; ".join(filter(None, reasons))


def _causes(groups: Sequence[DifferenceGroup]) -> str:
    """Return the first line of each cause in parentheses, "" if no line is known."""
    first = (next(iter((*one.joint_cause.new, *one.joint_cause.old)), None) for one in groups)
    named = list(dict.fromkeys(f"{line.path}:{line.line}" for line in first if line is not None))
    more = [f"{len(named) - MAX_PLACES} more"] if len(named) > MAX_PLACES else []
    return f" ({', '.join(named[:MAX_PLACES] + more)})" if named else ""


def _about_names(groups: Sequence[DifferenceGroup]) -> str:
    """Return that all examples are requests for names that are not here, "" if one is for a document."""
    from whimbrel.verify.weights import Weight

    examples = [example for group in groups for example in group.examples]
    if not examples or any(example.weight < Weight.NAME for example in examples):
        return ""
    paths = [example.probe.target.partition("?")[0] for example in examples]
    has_dots = all(path.rpartition("/")[2].startswith(".") for path in paths)
    what = "names that begin with a dot and are not here" if has_dots else "names that are not here"
    return f", only for {what}, such as {paths[0]}"


def _written(scope: KnowledgeScope) -> str:
    """Return that a side of 2.2 reads what an upgrade has written, "" if none does."""
    found = (item for item in scope.items if item.kind is UnknownKind.WRITTEN)
    return next((f"{item.place}: {item.subject}; {item.advice}" for item in found), "")


def _unknown(count: int) -> str:
    return f"{count_noun(count, 'fact')} that may matter {word_for(count, 'is', 'are')} not known"


def _place_of(error: LoadError) -> str:
    return f": {error.place}" if error.place is not None else ""
