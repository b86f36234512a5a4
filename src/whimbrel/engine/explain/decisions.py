"""Decision traces: which directive admitted or refused a client, as a tree with source locations.

A plan of an `Explainer` (see explainer.py) carries a `Tracer`.  Hook makers get it from `tracer_of` and wrap
what they compile: the same functions decide, and each records a `Decision`.  Plans that serve requests have
no tracer, and nothing is wrapped.
"""

from __future__ import annotations

from collections.abc import Callable

from whimbrel.base.errors import ConfigError, SourceLocation
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import TYPE_CHECKING, Any, Final, cast
from whimbrel.registry.module import Scope
from whimbrel.registry.phases import DECLINED, OK, HookStatus

if TYPE_CHECKING:
    from whimbrel.engine.explain.explainer import TracingEngine
    from whimbrel.engine.request import Request

NOT_EVALUATED: Final = "not asked"
OTHER_METHODS: Final = "about other methods"
"""The result of a line of <Limit> that does not concern the method of the request."""
GRANTED = "granted"
DENIED = "denied"
DECLINES = "declined"


@dataclass(frozen=True, slots=True)
class Decision:
    """One step of a decision.

    Attributes:
        what: the text of the directive or the name of the step; `place`: its source location.
        verdict: granted, denied, neutral, declined, matches, "does not match", "not asked" ...
        detail: the reason.
        children: the steps that it consists of, in the order of evaluation.
    """

    what: str
    verdict: str
    place: SourceLocation | None = None
    detail: str = ""
    children: tuple[Decision, ...] = ()


@dataclass(frozen=True, slots=True)
class MergedSection:
    """A section or .htaccess file that applies to a request: *written* is its opening line, *place* its
    location (line 0 of a file).
    """

    kind: str
    written: str
    place: SourceLocation | None


@dataclass(frozen=True, slots=True)
class RequestTrace:
    """Trace of one request, sub-request or redirect target: the sections that apply, in the order of merging,
    and the access decisions.

    *hooks* are the HookTraces of all phases, *plan* has the settings at the end.
    *kind* is request, redirect or sub-request; *status* is the result of the access phases (0: granted), None
    if they did not run. *refused*: the line of a .htaccess file that ended the request;
    *has_no_override*: 2.4 read that file without an AllowOverride line.
    """

    kind: str
    method: str
    uri: str
    filename: str
    sections: tuple[MergedSection, ...]
    status: HookStatus | None
    decision: Decision | None
    hooks: tuple[Any, ...] = ()
    plan: Any = None
    refused: ConfigError | None = None
    has_no_override: bool = False


class TraceBuilder:
    """The decisions about one request so far: finished ones of the innermost open step last."""

    __slots__ = ("has_no_override", "hooks", "open", "refused", "root", "status")

    def __init__(self) -> None:
        self.open: list[list[Decision]] = [[]]
        self.root: Decision | None = None
        self.hooks: list[Any] = []
        self.status: HookStatus | None = None
        self.refused: ConfigError | None = None
        self.has_no_override = False

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
    """Wraps functions so that their results are recorded."""

    def wrap(
        self,
        fn: Any,
        waits: bool,
        what: str,
        place: SourceLocation | None,
        describe: Describe,
        parts: Parts = (),
    ) -> Any:
        """Return *fn* (request first), wrapped as a step of its request's trace; those of *parts* that were
        not evaluated are recorded as "not asked".
        """

        def finish(r: Request, result: object) -> Any:
            trail = trace_of(r)
            inner = trail.inner()
            rest = (Decision(text, NOT_EVALUATED, where) for text, where in parts[len(inner) :])
            verdict, detail = describe(r, result)
            trail.add(Decision(what, verdict, place, detail, (*inner, *rest)))
            return result

        async def call_async(r: Request, *args: Any) -> Any:
            trace_of(r).begin()
            return finish(r, await fn(r, *args))

        def call_sync(r: Request, *args: Any) -> Any:
            trace_of(r).begin()
            return finish(r, fn(r, *args))

        return call_async if waits else call_sync


def trace_of(r: Request) -> TraceBuilder:
    """Return the trail of a request whose engine explains."""
    return cast("TracingEngine", r.engine).trace(r)


def tracer_of(scope: Scope) -> Tracer | None:
    """Return the tracer of a scope; None if nothing is traced."""
    return getattr(scope, "tracer", None)


def phase_verdict(status: HookStatus) -> tuple[str, str]:
    """Return the verdict and detail of a hook's status in an access phase."""
    if status == OK:
        return GRANTED, ""
    return (DECLINES, "") if status == DECLINED else (DENIED, str(status))
