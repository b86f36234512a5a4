"""The lines that decided an answer: access rules that were asked, sections that apply, rules of rewriting."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from typing import TYPE_CHECKING, Any, Final

from whimbrel.base.errors import SourceLocation
from whimbrel.base.programs import without_programs
from whimbrel.config.core_config import CoreDirConfig
from whimbrel.config.origins import Origin
from whimbrel.engine.connection import Connection
from whimbrel.engine.explain.deciding_rules import deciding_rules, is_container
from whimbrel.engine.explain.decisions import (
    DECLINES,
    DENIED,
    GRANTED,
    NOT_EVALUATED,
    Decision,
    RequestTrace,
)
from whimbrel.engine.explain.explainer import Explained, Explainer
from whimbrel.engine.input.body import RequestBody
from whimbrel.http.syntax.head import Head
from whimbrel.modules.aaa.allow_deny import AllowDenyDirConfig
from whimbrel.registry.phases import HookStatus
from whimbrel.verify.answer import DECIDES, REFUSED, DecidingLine
from whimbrel.verify.answering import received, release_body
from whimbrel.verify.assumptions import USER_KEY
from whimbrel.verify.probe import Probe
from whimbrel.verify.ssl_refusals import refused_lines

if TYPE_CHECKING:
    from whimbrel.verify.side import Side

MAPPING: Final = "mapping"
"""The role of a rule of rewriting that was applied."""
_OF_USER = ("(check_user_id)", "(auth_checker)")
"""Ends of the names of steps about the user."""
_APPLYING = ("applies", "matches")
"""Verdicts of Order, and of Allow and Deny."""


def deciding_lines(side: Side, probe: Probe) -> tuple[DecidingLine, ...]:
    """Return the lines, access first, each once with its last verdict.

    Access lines have the role *decides* if the result of the request itself rests on them, and then the
    verdict that they had for it.
    """
    explained = explain(side, probe)
    lines: dict[DecidingLine, None] = {}
    access: dict[tuple[str, int, str], DecidingLine] = {}
    for trace in explained.requests if explained is not None else ():
        if trace.decision is not None:
            found = list(_decisions(trace.decision, trace.status, is_first=not access))
            if not access and any(one.role == DECIDES for one in found):
                found += _of_origins(satisfy_lines(trace))
            if not access and trace.kind != "sub-request":
                found = [*_of_origins(refused_lines(trace), DENIED), *found]
            for one in found:
                known = access.get((one.path, one.line, one.text))
                if known is None or known.role != DECIDES:  # sub-requests of the handler decide nothing of it
                    access[one.path, one.line, one.text] = one
    lines.update(dict.fromkeys(access.values()))
    for trace in explained.requests if explained is not None else ():
        if trace.refused is not None and (place := trace.refused.place) is not None:
            lines[DecidingLine(place.path, place.line, trace.refused.reason, REFUSED)] = None
        for section in trace.sections:
            if section.place is not None:
                lines[DecidingLine(section.place.path, section.place.line, section.written, "section")] = None
    for step in side.runtime.steps:
        if step.applied and step.place is not None:
            text = f"RewriteRule {step.pattern}"
            lines[DecidingLine(step.place.path, step.place.line, text, MAPPING)] = None
    return tuple(lines)


def explain(side: Side, probe: Probe, *, is_dry: bool = False) -> Explained | None:
    """Return the explained answer to *probe*, its body released; None for bytes that are no request.

    *is_dry*: see `Explainer`.
    """
    configuration = side.loaded
    runtime = side.runtime
    runtime.begin(probe.client, probe.client_host, is_traced=True)
    begun = received(side.probing, probe)
    if begun is None:
        return None
    explainer = Explainer(configuration, runtime, is_dry=is_dry)
    explainer.state = {USER_KEY: probe.user}
    explainer.stat_cache = side.probing.stat_cache
    with without_programs():
        explaining = _explained(explainer, *begun)
        return side.probing.loop.run_until_complete(explaining)


def deciding_module(side: Side, probe: Probe, status: int) -> str:
    """Return the module whose hook gave the answer to *probe* its *status* first, "" if none did."""
    explained = explain(side, probe, is_dry=True)
    traces = explained.requests if explained is not None else ()
    hooks = (hook for trace in traces if trace.kind != "sub-request" for hook in trace.hooks)
    return next((hook.module for hook in hooks if hook.status == status), "")


async def _explained(explainer: Explainer, connection: Connection, head: Head) -> Explained:
    result: Any = explainer.explain(connection, head, RequestBody(0))
    explained: Explained = result if isinstance(result, Explained) else await result
    if explained.answer is not None:
        release_body(explained.answer)
    return explained


def satisfy_lines(trace: RequestTrace) -> Iterator[Origin]:
    """Yield the Satisfy lines that apply, of either version."""
    if trace.decision is not None and "Satisfy" in trace.decision.detail:
        yield from trace.plan.origin(CoreDirConfig, "satisfy")
        yield from trace.plan.origin(AllowDenyDirConfig, "satisfy")


def _of_origins(origins: Iterable[Origin], verdict: str = "") -> list[DecidingLine]:
    """Return lines that decide."""
    return [
        DecidingLine(line.place.path, line.place.line, line.text, DECIDES, verdict)
        for line in origins
        if line.place is not None
    ]


def _decisions(decision: Decision, status: HookStatus | None, *, is_first: bool) -> Iterator[DecidingLine]:
    """Yield the lines of *decision* that were asked; those that decide led a step to the result *status*.

    Where a user is asked for, the Require lines decide, before the lines about addresses.
    """
    result = DENIED if status else GRANTED
    is_of_user = any(
        step.verdict == result and step.what.endswith(_OF_USER) and not step.children
        for step in decision.children
    )
    for step in decision.children:
        wanted: tuple[str, ...] = ()
        if is_first and step.verdict.startswith(result):
            wanted = (result, *_APPLYING)
        elif is_first and is_of_user and (step.place is not None or step.verdict == DECLINES):
            wanted = (DENIED, *_APPLYING)
        yield from _of_step(step, wanted)


def _of_step(
    decision: Decision, wanted: tuple[str, ...], rules: Set[int] | None = None
) -> Iterator[DecidingLine]:
    """Yield the lines that were asked; innermost ones decide whose verdict begins as one of *wanted*, and in
    a tree of Require lines those of *rules* alone.
    """
    if is_container(decision) and rules is None:
        is_wanted = decision.verdict.startswith(wanted)
        rules = {id(rule) for rule in deciding_rules(decision)} if is_wanted else frozenset()
    if decision.verdict == NOT_EVALUATED:
        return
    place: SourceLocation | None = decision.place
    if place is not None:
        is_wanted = decision.verdict.startswith(wanted) if rules is None else id(decision) in rules
        is_deciding = is_wanted and not decision.children
        role = DECIDES if is_deciding else "access"
        yield DecidingLine(place.path, place.line, decision.what, role, decision.verdict)
    for child in decision.children:
        yield from _of_step(child, wanted, rules)
