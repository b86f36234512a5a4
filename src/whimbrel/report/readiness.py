"""The sentence of an upgrade about going live: may the result serve under 2.4, and what stands against it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from whimbrel.base.counts import count_noun
from whimbrel.report.model import ReportEntry
from whimbrel.upgrade.model import Risk

MAX_PLACES: Final = 3
"""Findings of one kind that the sentence names."""


def readiness(entries: Sequence[ReportEntry], unknown: int, uncompared: str) -> str:
    """Return ``ready for 2.4: `` with yes, no, not yet or not decided, and the reason.

    *unknown* counts the facts that are not known and may matter. *uncompared* is the reason why the answers
    of both versions were not compared, "" where they were.
    """
    review = [entry for entry in entries if entry.needs_review]
    decisions = [entry for entry in entries if entry.decision and not entry.needs_review]
    open_work = []
    if review:
        verb = "needs" if len(review) == 1 else "need"
        open_work.append(f"{count_noun(len(review), 'finding')} {verb} review{_places(review)}")
    if decisions:
        open_work.append(f"{count_noun(len(decisions), 'decision')} to take{_places(decisions)}")
    verdict = "yes"
    reasons = ["nothing is left to do by hand"]
    if open_work:
        verdict = (
            "no" if any(entry.risk is Risk.BREAKS and not entry.is_fixable for entry in review) else "not yet"
        )
        reasons = open_work
    elif unknown or uncompared:
        verdict = "not decided"
        verb = "is" if unknown == 1 else "are"
        reasons = [f"{count_noun(unknown, 'fact')} that may matter {verb} not known"] if unknown else []
        reasons += [uncompared] if uncompared else []
    return f"ready for 2.4: {verdict}: {', '.join(reasons)}"


def _places(entries: Sequence[ReportEntry]) -> str:
    """Return rules and places in parentheses, the worst first."""
    ordered = sorted(entries, key=lambda entry: entry.risk.rank)
    places = list(dict.fromkeys(f"{entry.rule} {entry.path}:{entry.line}" for entry in ordered))
    named = places[:MAX_PLACES]
    if len(places) > MAX_PLACES:
        named.append(f"{len(places) - MAX_PLACES} more")
    return f" ({', '.join(named)})"
