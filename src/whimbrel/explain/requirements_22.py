"""The Require lines of 2.2 that no module looks at.

Each module knows some words; the first one that grants or refuses ends the phase auth_checker (httpd 2.2:
AP_IMPLEMENT_HOOK_RUN_FIRST of auth_checker in server/request.c).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.engine.explain.decisions import DENIED, GRANTED, NOT_EVALUATED, RequestTrace
from whimbrel.explain.step import ExplanationStep
from whimbrel.modules.aaa.mod_authz_dbm import AuthzDbmDirConfig
from whimbrel.modules.aaa.mod_authz_groupfile import AuthzGroupFileDirConfig
from whimbrel.modules.aaa.mod_authz_user import AuthzUserDirConfig
from whimbrel.registry.phases import AUTH_CHECKER

WORDS: Final[dict[str, frozenset[str]]] = {
    "mod_authz_user": frozenset(("user", "valid-user")),
    "mod_authz_groupfile": frozenset(("group", "file-group")),
    "mod_authz_dbm": frozenset(("group", "file-group")),
    "mod_authz_owner": frozenset(("file-owner", "file-group")),
}
"""The words of Require that modules of 2.2 know."""
_RECORDS: Final[dict[str, type[Any]]] = {
    "mod_authz_user": AuthzUserDirConfig,
    "mod_authz_groupfile": AuthzGroupFileDirConfig,
    "mod_authz_dbm": AuthzDbmDirConfig,
}
"""The settings of modules that leave a user to others where they are not authoritative."""
_PHASE: Final = " (auth_checker)"


def with_unevaluated(trace: RequestTrace, steps: tuple[ExplanationStep, ...]) -> tuple[ExplanationStep, ...]:
    """Return *steps*, the children of an access step, with the result "not asked" for the Require lines that
    have no effect on this request; steps of 2.4 are returned as they are.
    """
    applying = {word for step in steps if (word := _word_of(step))}
    checkers = list(_ran(steps)) or [(name, "") for name in _would_run(trace, applying)]
    decider = next((name for name, result in reversed(checkers) if result in (GRANTED, DENIED, "")), "")
    if decider not in WORDS:
        return steps
    words = frozenset().union(*(WORDS.get(name, frozenset()) for name, _ in checkers))
    if any(name not in WORDS for name, _ in checkers):
        words |= applying - frozenset().union(*WORDS.values())
    return tuple(
        replace(step, result=NOT_EVALUATED, detail=f"{decider} decides")
        if (word := _word_of(step)) and word not in words
        else step
        for step in steps
    )


def _word_of(step: ExplanationStep) -> str:
    """Return the first word of a Require line of 2.2 that applies to the method, "" for another step."""
    is_line = step.what.startswith("Require ") and step.result == "applies"
    return step.what.split()[1].lower() if is_line else ""


def _ran(steps: Iterable[ExplanationStep]) -> Iterator[tuple[str, str]]:
    """Yield the modules that were asked about the user, with their results."""
    for step in steps:
        if step.what.endswith(_PHASE):
            yield step.what.removesuffix(_PHASE), step.result


def _would_run(trace: RequestTrace, applying: set[str]) -> list[str]:
    """Return the modules that a user would be left to, up to the first one that leaves none to others; [] if
    none is known to do that.
    """
    found = list[str]()
    plan = trace.plan
    if plan is None or not applying:
        return found
    for hook in plan.cache.hooks[AUTH_CHECKER.index]:
        name = plan.cache.recorder.source(hook)
        mine = WORDS.get(name, frozenset()) & applying
        if hook.make(plan) is None or (name in WORDS and not mine):
            continue
        found.append(name)
        record = _RECORDS.get(name)
        is_last = record is not None and plan.dir_config(record).authoritative
        if is_last or (name == "mod_authz_user" and "valid-user" in mine):
            return found
    return []
