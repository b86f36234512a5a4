"""Trace of the rules that a request tried, as data for explanations and for tests of rules.

It is recorded if the runtime of an engine has a list named ``rewriting``; each rule appends a step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import dataclass, field

if TYPE_CHECKING:
    from whimbrel.engine.request import Request


class ConditionTrace(NamedTuple):
    """Result of one condition: the compared text, the pattern, the test string as written and its line."""

    subject: str
    pattern: str
    holds: bool
    test_string: str
    place: SourceLocation | None


@dataclass(slots=True)
class Step:
    """A rule that was tried; *directory* is "" for a server's rules.

    *matches*: its pattern, or negated pattern, accepts *subject*. *applied*: its conditions held.
    *result*: the resulting URL or file ("" for rules without substitution). *query*: the query of a
    resulting URL, or the new query of a file; "" without one. *refused*: what the rule gives, where the
    request is refused for it (UnsafeAllow3F); *result* is "" then.
    *also*: locations of later rules whose patterns match the same text. *request*: the one that tried the
    rule, which may be a sub-request of a condition.
    """

    place: SourceLocation | None
    pattern: str
    subject: str
    directory: str
    conditions: list[ConditionTrace] = field(default_factory=list)
    applied: bool = False
    result: str = ""
    query: str = ""
    also: tuple[SourceLocation | None, ...] = ()
    matches: bool = True
    refused: str = ""
    request: Request | None = field(default=None, compare=False, repr=False)


def steps_of(r: Request) -> list[Step] | None:
    """Return the list that receives the steps of *r*; None without one."""
    return getattr(r.engine.runtime, "rewriting", None)


def reached_rules(servers: Iterable[Any], kind: type[Any]) -> Iterator[SourceLocation | None]:
    """Iterate over the locations of all rules in lists that a request has reached.

    *kind* is the per-server record that caches them compiled.
    """
    for server in servers:
        for rules, _directory, _level in server.config(kind).compiled:
            for rule in rules:
                yield rule.place
