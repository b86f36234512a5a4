"""The first difference of a comparison that is open: its number, its line, and the request that shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from whimbrel.verify.verification import DifferenceGroup, VerifyResult


class OpenDifference(NamedTuple):
    """What is to be looked at, and the words of `explain` that show it; () if none do."""

    sentence: str
    request: tuple[str, ...]


def open_difference(result: VerifyResult) -> OpenDifference:
    """Return the first difference of *result* that is neither cosmetic nor decided, or the first one after it
    that a request shows; before it the question that keeps 2.4 from starting.
    """
    groups = result.causes_to_review
    shown = next((group for group in groups if group.words), None)
    first = groups[0]
    sentence = f"{_stop_of(result)}look at difference {_named(result, first)}, the first that is open"
    if shown is not None and shown is first:
        return OpenDifference(sentence, shown.words)
    sentence = f"{sentence} ({first.unshown})" if first.unshown else sentence
    if shown is None:
        return OpenDifference(f"{sentence}; {_what_closes(first)}", ())
    sentence = f"{sentence}, then at difference {_named(result, shown)}"
    return OpenDifference(sentence, shown.words)


def _stop_of(result: VerifyResult) -> str:
    """Return the question without whose answer 2.4 does not start, as what comes first; "" for none.

    It is the first question, as the worst effect comes first.
    """
    if not result.has_stop or not result.questions:
        return ""
    rule, place = result.questions[0][:2]
    return (
        f"decide {rule.partition(' ')[0]} at {place}: 2.4 does not start, or answers 500, until then; then "
    )


def _named(result: VerifyResult, group: DifferenceGroup) -> str:
    """Return the number of *group* in the report and the line that it is about: of those that decide the
    first one that the report shows.
    """
    from whimbrel.verify.answer import DECIDES  # most commands do without the engine

    number = next(n for n, one in enumerate(result.groups, 1) if one is group)
    cause = group.joint_cause
    deciding = [line for line in cause.new if line.role == DECIDES]
    line = next(iter((*deciding, *group.lines[1], *cause.new, *group.lines[0], *cause.old)), None)
    return f"{number} ({line.path}:{line.line})" if line is not None else str(number)


def _what_closes(group: DifferenceGroup) -> str:
    """Return what closes *group*."""
    from whimbrel.verify.recorded_decisions import can_be_decided

    if group.comments() and can_be_decided(group):
        return "no line decides it; if the answers are wanted, the comments below it record that"
    if not group.opens and can_be_decided(group):
        return "correct its lines, or put # whimbrel: ignore[DIFF] above each if the answers are wanted"
    return "correct its lines"
