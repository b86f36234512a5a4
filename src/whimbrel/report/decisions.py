"""What a person must decide before 2.4 serves, who gains or loses access, and how a review is recorded.

Check, upgrade and the pages write the same sentences.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from whimbrel.base.counts import count_noun, word_for
from whimbrel.report.model import Report, ReportEntry
from whimbrel.upgrade.model import READ_ERROR, AccessDifference, Risk

MAX_PLACES: Final = 4
"""Groups of rules and places that a sentence names."""


class RuleToDecide(NamedTuple):
    """A rule that a person must look at, with the places of its findings in the order of the text."""

    rule: str
    places: tuple[str, ...]

    @property
    def place(self) -> str:
        """Return the first place, and the number of the others."""
        more = len(self.places) - 1
        return f"{self.places[0]} and {more:,} more" if more else self.places[0]


def is_to_decide(entry: ReportEntry) -> bool:
    """Return True if a person must look at *entry*; text that could not be read is counted apart."""
    is_open = entry.needs_review or bool(entry.decision)
    return is_open and not entry.is_lone and (entry.rule != READ_ERROR or entry.risk is Risk.BREAKS)


def has_stop(entries: Iterable[ReportEntry]) -> bool:
    """Return True if 2.4 does not start, or answers 500, until a person has looked at one of *entries*."""
    return any(entry.risk is Risk.BREAKS and not entry.is_fixable for entry in filter(is_to_decide, entries))


def decisions(entries: Iterable[ReportEntry]) -> list[RuleToDecide]:
    """Return a decision for each rule that a person must look at, the worst risk first."""
    places: dict[str, dict[str, None]] = {}
    for entry in sorted(filter(is_to_decide, entries), key=lambda entry: entry.risk.rank):
        places.setdefault(entry.rule, {})[entry.place] = None
    return [RuleToDecide(rule, tuple(found)) for rule, found in places.items()]


def to_decide(entries: Iterable[ReportEntry]) -> str:
    """Return ``to decide: 2: R01, R02 conf/httpd.conf:9``, or ``to decide: nothing``."""
    found = decisions(entries)
    return f"to decide: {len(found):,}: {named(found)}" if found else "to decide: nothing"


def named(found: Sequence[RuleToDecide]) -> str:
    """Return rules and places; rules with the same places stand together."""
    rules: dict[tuple[str, ...], list[str]] = {}
    for one in found:
        rules.setdefault(one.places, []).append(one.rule)
    texts = [f"{', '.join(names)} {RuleToDecide('', places).place}" for places, names in rules.items()]
    more = len(texts) - MAX_PLACES
    return "; ".join([*texts[:MAX_PLACES], *([f"{more:,} more"] if more > 0 else [])])


def recording(entries: Iterable[ReportEntry]) -> str:
    """Return how a reviewed finding is recorded, "" where nothing can be accepted as it is."""
    accepted = {entry.rule for entry in entries if is_to_decide(entry) and entry.risk is not Risk.BREAKS}
    if not accepted:
        return ""
    return f"reviewed? a comment above the line records it: # whimbrel: ignore[{','.join(sorted(accepted))}]"


def access_line(entries: Sequence[ReportEntry]) -> str:
    """Return which findings open or close access if the text stays as it is, with the first place of each."""
    texts = []
    for risk, word in ((Risk.OPENS, "opens"), (Risk.CLOSES, "closes")):
        found = [entry for entry in entries if entry.risk is risk and not entry.is_lone]
        if found:
            first = found[0]
            mark = f", {first.mark}" if first.mark else ""
            more = f" and {len(found) - 1:,} more" if len(found) > 1 else ""
            texts.append(f"{first.rule} {word} it at {first.place}{mark}{more}")
    return f"access: {'; '.join(texts)}" if texts else "access: no finding opens or closes it"


def answer(report: Report) -> list[str]:
    """Return what a person must decide, how a review is recorded, and who gains or loses access; nothing
    where nothing was found.
    """
    if not report.findings:
        return []
    entries = report.counted
    return [*filter(None, (to_decide(entries), recording(entries))), access_line(entries)]


def access_of_comparison(differences: Sequence[AccessDifference]) -> str:
    """Return how many requests of a comparison gain or lose access, with the first one."""
    gains = sum(one.risk is Risk.OPENS for one in differences)
    loses = sum(one.risk is Risk.CLOSES for one in differences)
    if not gains and not loses:
        return "access: no request of the comparison gains or loses it"
    first = differences[0]
    return (
        f"access: {count_noun(gains, 'request')} {word_for(gains, 'gains', 'gain')} it, "
        f"{loses:,} {word_for(loses, 'loses', 'lose')} it, such as {first.client} for {first.request}"
    )
