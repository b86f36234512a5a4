"""The rules on which the result of a tree of Require lines rests.

A container takes its result from the members that have the same one: one of them grants in a RequireAny, all
of them in a RequireAll; those that refuse do so in either. A negated container (RequireNone) refuses by the
members that grant. Members that were not asked have no part in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Protocol, Self, TypeVar

from whimbrel.engine.explain.decisions import DENIED, GRANTED

NO_USER: Final = "denied (no authenticated user yet)"
"""The result of a line that asks for a user while there is none."""
_NEUTRAL: Final = "neutral"
_CONTAINERS: Final = ("<Require", "AuthMerging ")
_NEGATED: Final = (
    "<RequireNone>",
    "<RequireNotAll>",
    "AuthMerging None",
    "AuthMerging NotAll",
    "Require not ",
)


class RuleStep(Protocol):
    """A step of a decision."""

    @property
    def what(self) -> str:
        """The rule as httpd's messages show it."""

    @property
    def verdict(self) -> str:
        """The result."""

    @property
    def detail(self) -> str:
        """The reason."""

    @property
    def children(self) -> Sequence[Self]:
        """The members of a container."""


Step = TypeVar("Step", bound=RuleStep)


def is_container(step: RuleStep) -> bool:
    """Return True if *step* is a container of Require lines."""
    return step.what.startswith(_CONTAINERS)


def is_negated(step: RuleStep) -> bool:
    """Return True if *step* refuses where its content grants."""
    return step.what.startswith(_NEGATED)


def rule_trees(steps: Iterable[Step]) -> Iterator[Step]:
    """Yield the outermost containers of Require lines below *steps*."""
    for step in steps:
        if is_container(step):
            yield step
        else:
            yield from rule_trees(step.children)


def deciding_rules(step: Step) -> Iterator[Step]:
    """Yield the innermost rules on which the result of *step* rests: with other results of all of them, or a
    member asked that was not, its result is another one.
    """
    if not step.children:
        yield step
        return
    wanted = GRANTED if is_negated(step) and step.verdict == DENIED else step.verdict
    members = [member for member in step.children if member.verdict == wanted]
    if wanted == _NEUTRAL:
        members = [member for member in members if not is_negated(member)]
    concerned = [member for member in members if not member.detail]
    for member in concerned or members:
        yield from deciding_rules(member)
