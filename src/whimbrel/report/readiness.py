"""The sentence about going live: may the new text serve under 2.4, and what stands against it.

An upgrade, a comparison and a replay of logs each end with one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from whimbrel.base.counts import count_noun, word_for
from whimbrel.base.dialect import V22, V24
from whimbrel.base.static_typing import TYPE_CHECKING
from whimbrel.report.decisions import has_stop, is_to_decide, to_decide
from whimbrel.report.model import ReportEntry
from whimbrel.upgrade.check.fixpoint import NOT_SHOWN, NOT_VERIFIED
from whimbrel.upgrade.edits.diff import display_path
from whimbrel.upgrade.knowledge.scope import KnowledgeScope, UnknownItem, UnknownKind

if TYPE_CHECKING:
    from whimbrel.replay.summary import Summary
    from whimbrel.upgrade.model import Finding
    from whimbrel.verify.side import LoadError
    from whimbrel.verify.verification import DifferenceGroup, VerifyResult


READY: Final = "ready for 2.4: "
"""What the sentence begins with."""
YES: Final = "yes"
YES_FOR_LOGS: Final = "yes for these logs"
NOT_YET: Final = "not yet"
NOT_DECIDED: Final = "not decided"
NO: Final = "no"
MAX_PLACES: Final = 4
"""Places of causes that a sentence names."""
NOT_COMPARED: Final = "a check compares no answers"
"""The reason why nothing but a comparison decides a text without findings."""
NOTHING_COMPARED: Final = "nothing is to change, so no answers were compared (whimbrel verify compares them)"
"""The same of an upgrade that changes nothing."""


class _Standing(NamedTuple):
    """What is known about going live; "" and () for nothing of a kind.

    Attributes:
        failure: why a side does not load. `unread`: why nothing could be compared.
        refused: what opens or closes access, or changes statuses: the new text may not serve with it.
        changes: other answers to review. `to_decide`: what is left to a person; `has_stop`: 2.4 does not
            start until then.
        no_start: what ends the start here.
        unknown: what is not decided.
        reason: why nothing stands against it. `verdict`: the word for that.
        unwritten: where a copy answers 500 with the old .htaccess files.
    """

    failure: str = ""
    unread: str = ""
    refused: str = ""
    changes: str = ""
    to_decide: str = ""
    has_stop: bool = False
    no_start: str = ""
    unknown: tuple[str, ...] = ()
    reason: str = ""
    verdict: str = YES
    unwritten: str = ""


def _sentence(standing: _Standing) -> str:
    """Return the sentence: of all commands the first kind of reason that there is gives the verdict."""
    verdict = standing.verdict
    reason = standing.reason
    unknown = ", ".join(filter(None, standing.unknown))
    if standing.failure or (standing.refused and not standing.unread):
        verdict = NO
        reason = standing.failure or standing.refused
    elif standing.unread:
        verdict = NOT_DECIDED
        reason = standing.unread
    elif standing.changes or standing.to_decide:
        is_stopped = bool(standing.to_decide) and standing.has_stop
        reasons = (standing.changes, standing.to_decide)
        verdict = NO if is_stopped else NOT_YET
        reason = "; ".join(filter(None, reasons[::-1] if is_stopped else reasons))
    elif standing.no_start:
        verdict = NOT_YET
        reason = f"it does not start here: {standing.no_start}"
    elif unknown:
        verdict = NOT_DECIDED
        reason = unknown
    if standing.unwritten and verdict != NO:
        is_ready = verdict == standing.verdict
        reason = standing.unwritten if is_ready else f"{standing.unwritten}; {reason}"
        verdict = NOT_YET
    return f"{READY}{verdict}: {reason}"


def readiness(
    entries: Sequence[ReportEntry],
    unknown: Sequence[UnknownItem],
    uncompared: str,
    version_causes: int = 0,
    by_comments: Sequence[Finding] = (),
    *,
    no_start: str = "",
    directory: str = "",
) -> str:
    """Return ``ready for 2.4: `` with yes, no, not yet or not decided, and the reason.

    *unknown* are the facts that are not known and may matter, at places that are named as paths below
    *directory*. *no_start*: what ends the start of 2.4 on this machine. *uncompared* is the reason why the
    answers of both versions were not compared, "" where they were. *version_causes*: see `UpgradeResult`.
    *by_comments*: see `decided_by_comments`.
    """
    open_work = to_decide(entries) if any(map(is_to_decide, entries)) else ""
    if open_work and uncompared.startswith(NOT_VERIFIED):
        open_work += f", {uncompared}"
    unread = [entry for entry in entries if entry.needs_review and not is_to_decide(entry)]
    place = f"{count_noun(len(unread), 'place')} could not be read: {unread[0].place}" if unread else ""
    lie = word_for(version_causes, "lies", "lie")
    shown = f"(whimbrel verify shows what records {word_for(version_causes, 'it', 'them')})"
    causes = f"{count_noun(version_causes, 'cause')} of other answers {lie} in the versions alone {shown}"
    return _sentence(
        _Standing(
            changes=causes if version_causes else "",
            to_decide=open_work,
            has_stop=has_stop(entries),
            no_start=no_start,
            unknown=(place, "" if unread else _unknown(unknown, directory=directory), uncompared),
            reason="nothing is left to do by hand" + _decided(by_comments),
        )
    )


def readiness_of_comparison(verification: VerifyResult) -> str:
    """Return the same for a comparison of a text of 2.2 with one of 2.4; "" for other versions."""
    if verification.dialects != (V22.name, V24.name):
        return ""
    from whimbrel.verify.verification import CUT, LINE_OR_CHAIN  # for a comparison alone

    groups = verification.causes_to_review
    refused = sum(group.kind == "access" or group.opens or group.closes for group in groups)
    undecided = len(verification.not_decided)
    open_comparisons = (
        f"{count_noun(undecided, *LINE_OR_CHAIN)} {word_for(undecided, 'is', 'are')} not decided"
    )
    unknown = (open_comparisons * bool(undecided), _unknown(verification.scope.deciding))
    old, new = verification.errors
    written = _written(verification.scope)
    reason = "no answer differs"
    if verification.groups or verification.decided_facts:
        reason += f", but for {verification.excepted_note}"
    changes = f"{count_noun(len(groups), 'cause')} of other answers {word_for(len(groups), 'is', 'are')}"
    changes += f" to review{_causes(groups)}{_about_names(groups)}"
    old_fails = (
        f"the old configuration does not load{_place_of(old[0])}, so nothing was compared" if old else ""
    )
    return _sentence(
        _Standing(
            failure=f"the new configuration does not load{_place_of(new[0])}" if new else "",
            unread=written or old_fails,
            refused=f"{count_noun(refused, 'cause')} of access that differs" if refused else "",
            changes=changes if groups else "",
            to_decide=verification.to_decide,
            has_stop=verification.has_stop,
            no_start=verification.no_start,
            unknown=(CUT,) if verification.is_cut else unknown,
            reason=reason + _decided(verification.by_comments),
            unwritten=verification.unwritten,
        )
    )


def readiness_of_replay(summary: Summary) -> str:
    """Return the same for logged requests under a text of 2.2 and one of 2.4; "" for other versions.

    Of what no log asks it says nothing: a comparison decides about that.
    """
    if summary.dialects != (V22.name, V24.name):
        return ""
    tally = summary.tally
    total = summary.compared
    other = sum(change.requests for key, change in tally.changes.items() if not summary.is_excepted(key))
    reason = f"none of {total} changes"
    reason += f" but for what is {summary.excepted_note}" if tally.changed else ""
    reason += summary.left_out
    if summary.decided_facts:
        facts = count_noun(len(summary.decided_facts), "unknown fact")
        reason += f"; {facts} decided in the text: {', '.join(dict.fromkeys(summary.decided_facts))}"
    refused = ""
    if summary.sources_sent:
        gets = word_for(summary.sources_sent, "gets", "get")
        refused = f"{summary.sources_sent:,} of {total} {gets} the source of a program that ran before"
    elif summary.access_changes:
        gain = word_for(summary.access_changes, "gains or loses", "gain or lose")
        refused = f"{summary.access_changes:,} of {total} {gain} access"
    changes = ""
    if summary.status_changes:
        words = word_for(summary.status_changes, "changes its status", "change their status")
        changes = f"{summary.status_changes:,} of {total} {words}"
    elif other:
        changes = f"{other:,} of {total} {word_for(other, 'changes', 'change')}, none its status"
    unknown = _unknown(summary.scope.deciding)
    none = ""
    if tally.requests == summary.not_compared:
        none = f"no request was {'run' if tally.requests else 'replayed'}"
    return _sentence(
        _Standing(
            failure="a configuration does not load" if summary.errors else "",
            unread=_written(summary.scope),
            refused=refused,
            changes=changes,
            to_decide=summary.to_decide,
            has_stop=summary.has_stop,
            no_start=summary.no_start,
            unknown=(none or unknown,),
            reason=reason + _decided(summary.by_comments),
            verdict=YES_FOR_LOGS,
            unwritten=summary.unwritten,
        )
    )


def _decided(by_comments: Sequence[Finding]) -> str:
    """Return what comments decide, behind a semicolon; "" for nothing."""
    if not by_comments:
        return ""
    from whimbrel.verify.verification import comments_sentence  # a check does not need the engine

    return f"; {comments_sentence(by_comments)}"


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


def _unknown(items: Sequence[UnknownItem], *, directory: str = "") -> str:
    """Return how many facts are not known, with the module file that no one has read; "" for none.

    The places of *items* are named below *directory*.
    """
    count = len(items)
    if not count:
        return ""
    library = next((item for item in items if item.consequence == NOT_SHOWN and item.place is not None), None)
    named = ""
    if library is not None and library.place is not None:
        place = f"{display_path(library.place.path, directory)}:{library.place.line}"
        named = f" ({place}: {library.subject}, {NOT_SHOWN})"
    return f"{count_noun(count, 'fact')} that may matter {word_for(count, 'is', 'are')} not known{named}"


def _place_of(error: LoadError) -> str:
    return f": {error.place}" if error.place is not None else ""
