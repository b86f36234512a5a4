"""Decisions that can be told: which line let a client in or kept it out, as a tree with places.

A plan of an `Explainer` (see request/explain.py) carries a `Watch`.  Hook makers ask for it with `watching`
and wrap what they compile, so that the same functions decide, and each leaves a `Decision` behind.  Plans
that response requests carry none: nothing is wrapped there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.registry.module import Scope
from whimbrel.registry.phases import DECLINED, OK, HookStatus

NOT_EVALUATED: Final = "not asked"
GRANTED, DENIED, DECLINES = "granted", "denied", "declined"


@dataclass(frozen=True, slots=True)
class Decision:
    """One step: *what* is the text of the line or the name of the step, *place* where the line stands,
    *verdict* one of granted, denied, neutral, declined, matches, "does not match", "not asked" ..., *detail*
    a reason in words, *children* the steps it was made of, in the order of asking.
    """

    what: str
    verdict: str
    place: SourceLocation | None = None
    detail: str = ""
    children: tuple[Decision, ...] = ()


@dataclass(frozen=True, slots=True)
class MergedSection:
    """A section or .htaccess file whose settings hold for a request: *written* is its opening line, *place*
    that line (of a file: line 0).
    """

    kind: str
    written: str
    place: SourceLocation | None


@dataclass(frozen=True, slots=True)
class RequestTrace:
    """One request, sub-request or redirect target: what came to hold for it in the order of merging, and what
    was decided about access.

    *kind* is request, redirect or sub-request; *status* is what the access phases answered (0: let in), None
    where they never ran.
    """

    kind: str
    method: str
    uri: str
    filename: str
    sections: tuple[MergedSection, ...]
    status: HookStatus | None
    decision: Decision | None


class TraceBuilder:
    """The decisions about one request so far: finished ones of the innermost open step last."""

    __slots__ = ("open", "root", "status")

    def __init__(self) -> None:
        self.open: list[list[Decision]] = [[]]
        self.root: Decision | None = None
        self.status: HookStatus | None = None

    def add(self, decision: Decision) -> None:
        """A step without inner ones."""
        self.open[-1].append(decision)

    def begin(self) -> None:
        """Open a step: what is noted from here on belongs to it."""
        self.open.append([])

    def inner(self) -> list[Decision]:
        """Close the step; what belongs to it."""
        return self.open.pop()


Describe = Callable[[Any, Any], tuple[str, str]]
"""Request and result to verdict and detail."""
Parts = tuple[tuple[str, SourceLocation | None], ...]
"""Texts and places of what a step would ask, in order."""


class Tracer:
    """Wraps functions so that what they answer is told."""

    def wrap(
        self,
        fn: Any,
        waits: bool,
        what: str,
        place: SourceLocation | None,
        describe: Describe,
        parts: Parts = (),
    ) -> Any:
        """*fn* (request first) as it is, a step in its request's trail; those of *parts* that it did not come
        to are told as not asked.
        """

        def finish(r: Any, result: Any) -> Any:
            trail = trace_of(r)
            inner = trail.inner()
            rest = (Decision(text, NOT_EVALUATED, where) for text, where in parts[len(inner) :])
            verdict, detail = describe(r, result)
            trail.add(Decision(what, verdict, place, detail, (*inner, *rest)))
            return result

        async def call_async(r: Any, *args: Any) -> Any:
            trace_of(r).begin()
            return finish(r, await fn(r, *args))

        def call_sync(r: Any, *args: Any) -> Any:
            trace_of(r).begin()
            return finish(r, fn(r, *args))

        return call_async if waits else call_sync


def trace_of(r: Any) -> TraceBuilder:
    """Return the trail of a request whose engine explains."""
    found: TraceBuilder = r.engine.trace(r)
    return found


def tracer_of(scope: Scope) -> Tracer | None:
    """Return the scope's watch; None where nothing is to be told."""
    return getattr(scope, "tracer", None)


def phase_verdict(answer: HookStatus) -> tuple[str, str]:
    """Return a hook's answer in an access phase as verdict and detail."""
    if answer == OK:
        return GRANTED, ""
    return (DECLINES, "") if answer == DECLINED else (DENIED, str(answer))
