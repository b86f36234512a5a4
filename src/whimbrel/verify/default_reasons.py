"""Why answers of two versions differ where a line is missing: the versions have other defaults."""

from __future__ import annotations

import re
from typing import Final

from whimbrel.base.dialect import V22, V24
from whimbrel.config.default_values import (
    ALLOW_OVERRIDE,
    OPTIONS,
    default_of,
    default_sentence,
    default_value,
)
from whimbrel.engine.plan.plan import Plan
from whimbrel.verify.answer import Answer
from whimbrel.verify.causes import Causes, PlanPair


def _of_both(directive: str, rule: str) -> str:
    """Return the sentences about the defaults of both versions; *rule* is the row of the table of changes."""
    reason = f"no {directive} line applies"
    return (
        "; ".join(
            default_sentence(directive, default_value(directive, dialect), default_of(dialect, reason))
            for dialect in (V22, V24)
        )
        + f" ({rule})"
    )


OF_OPTIONS: Final = _of_both(OPTIONS, "X02")
OF_OVERRIDES: Final = _of_both(ALLOW_OVERRIDE, "C09")
_DEFAULTS: Final = (
    (403, re.compile(r"forbidden by Options directive"), frozenset(("options",)), OF_OPTIONS),
    (
        500,
        re.compile(r"\.htaccess: .* not allowed here"),
        frozenset(("allowoverride", "allowoverridelist")),
        OF_OVERRIDES,
    ),
)
"""The status of 2.4, what it logs, the directives that no line has, and the reason."""


def default_reason(causes: Causes, answers: tuple[Answer, Answer], plans: PlanPair) -> str:
    """Return the reason for the difference between *answers* that *plans* gave, "" if it is another one."""
    sides = [lines.side for lines in causes.sides]
    if [side.dialect is V22 for side in sides].count(True) != 1:
        return ""
    number = 1 if sides[0].dialect is V22 else 0
    new = answers[number]
    old = answers[1 - number]
    for status, logged, names, reason in _DEFAULTS:
        is_refused = new.status == status != old.status and any(map(logged.search, new.log))
        if is_refused and not any(_has_line(causes, at, plans[at], names) for at in (0, 1)):
            return reason
    return ""


def _has_line(causes: Causes, number: int, plan: Plan | None, names: frozenset[str]) -> bool:
    """Return True if a line of a side has one of *names* in a section of *plan*; without a plan, in any."""
    lines = causes.sides[number]
    scopes = lines.scopes if plan is None else causes.scopes(lines, plan)
    return any(line.name in names for scope in scopes for line in scope.lines)
