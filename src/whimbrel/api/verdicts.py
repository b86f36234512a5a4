"""Verdict: the comparison of two configurations."""

from __future__ import annotations

from dataclasses import dataclass

from whimbrel.api.answers import Line
from whimbrel.api.findings import Unknown


@dataclass(frozen=True, slots=True)
class Difference:
    """Requests that both configurations answer differently, for one cause.

    Attributes:
        kind: "access", or "response".
        risk: "opens access", "closes access", "changes answers" or "cosmetic".
        count: the number of differing requests that were found.
        request: one of them in words; `change`: what differs in its answers.
        old_lines, new_lines: the lines that cause it.
        decided: comments of the new text that record a decision about it: ``R01 at FILE:LINE``.
    """

    kind: str
    risk: str
    count: int
    request: str
    change: str
    old_lines: tuple[Line, ...]
    new_lines: tuple[Line, ...]
    decided: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.request}: {self.change}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of `verify`.

    Attributes:
        not_decided: what could not be compared, as sentences.
        requests: the number of requests that both sides answered.
        unknown: what is not known here.
    """

    differences: tuple[Difference, ...]
    not_decided: tuple[str, ...]
    requests: int
    unknown: tuple[Unknown, ...]

    @property
    def is_same(self) -> bool:
        """Return True if both give the same answers, but for cosmetic differences and those that a comment
        of the new text decides, and nothing is left undecided or unknown.
        """
        is_known = not any(item.matters for item in self.unknown)
        has_others = any(one.risk != "cosmetic" and not one.decided for one in self.differences)
        return not has_others and not self.not_decided and is_known
