"""What the rules did with a request, as data: for explanations and for tests of rules.

Whoever wants it gives the runtime of an engine a list named ``rewriting``; each rule whose pattern fitted adds a step to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import dataclass, field


class ConditionTrace(NamedTuple):
    """One condition as it came out: what was compared with what."""

    subject: str
    pattern: str
    holds: bool


@dataclass(slots=True)
class Step:
    """A rule whose pattern fitted *subject*; *folder* is "" for a server's rules.

    *applied* says whether its conditions held; *result* is what the URL or file became ("" for rules without substitution); *also* are the
    places of later rules whose patterns fit the same text.
    """

    place: SourceLocation | None
    pattern: str
    subject: str
    directory: str
    conditions: list[ConditionTrace] = field(default_factory=list)
    applied: bool = False
    result: str = ""
    also: tuple[SourceLocation | None, ...] = ()


def steps_of(r: Any) -> list[Step] | None:
    """The list that steps of *r* are added to; None where nobody wants them."""
    found: list[Step] | None = getattr(r.engine.runtime, "rewriting", None)
    return found


def reached_rules(servers: Iterable[Any], kind: type[Any]) -> Iterator[SourceLocation | None]:
    """The places of all rules in lists that a request has come to; *kind* is the per-server record that keeps them compiled."""
    for server in servers:
        for rules, _directory, _level in server.config(kind).compiled:
            for rule in rules:
                yield rule.place
