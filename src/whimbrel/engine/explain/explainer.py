"""Explainer: an engine that traces its decisions, with the same configuration, hook makers and phases."""

from __future__ import annotations

from collections.abc import Awaitable
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.base.programs import ProgramReported, reported_programs
from whimbrel.config.configuration import Configuration
from whimbrel.config.core_config import CoreDirConfig
from whimbrel.config.htaccess import HtaccessError
from whimbrel.config.model import Layer, LogSink, Section, SectionKind, Server, all_nodes
from whimbrel.directives.context import Context
from whimbrel.engine.connection import Connection
from whimbrel.engine.coroutines import run_until_suspended
from whimbrel.engine.deps.files import TickStatCache
from whimbrel.engine.engine import Engine
from whimbrel.engine.explain.decisions import (
    OTHER_METHODS,
    Decision,
    MergedSection,
    RequestTrace,
    TraceBuilder,
    Tracer,
    phase_verdict,
    trace_of,
)
from whimbrel.engine.explain.hook_traces import HookRecorder, HookTrace
from whimbrel.engine.input.body import RequestBody
from whimbrel.engine.log.error_log_line import DEBUG, DEFAULT_LEVEL, INFO, LogLine, enabled
from whimbrel.engine.pipeline.access import check_access
from whimbrel.engine.plan.plan import Plan, PlanSource
from whimbrel.engine.plan.plan_cache import PlanCache
from whimbrel.engine.request import Request
from whimbrel.engine.response import Response
from whimbrel.engine.runtime import Runtime
from whimbrel.engine.walk.htaccess import HtaccessPolicy, HtaccessResolver, Probe
from whimbrel.http.syntax.head import Head
from whimbrel.registry.module import CompiledHook
from whimbrel.registry.phases import (
    ACCESS_CHECKER,
    ACCESS_CHECKER_EX,
    AUTH_CHECKER,
    CHECK_USER_ID,
    HANDLER,
    HookStatus,
    Phase,
)
from whimbrel.registry.settings import UNSET

if TYPE_CHECKING:
    from whimbrel.registry.phases import HookFn

T = TypeVar("T")
TRACED_PHASES = (ACCESS_CHECKER, ACCESS_CHECKER_EX, CHECK_USER_ID, AUTH_CHECKER)
# handlers that start a program or open a connection
EXTERNAL_HANDLERS: Final = (
    "mod_cgi",
    "mod_fcgid",
    "mod_fastcgi",
    "mod_php",
    "mod_proxy",
    "mod_isapi",
    "mod_wsgi",
    "mod_dav",
)
WITHOUT_BACK_END: Final = ("mod_proxy_balancer",)
"""Modules of EXTERNAL_HANDLERS by their names, whose own handler (balancer-manager) contacts no back end."""
SCRIPTS: Final = ("mod_cgi", "mod_wsgi", "mod_dav", "mod_php", "mod_fcgid", "mod_fastcgi")  # mod_cgid too


class HandlerNotRun(Exception):
    """A handler of EXTERNAL_HANDLERS would run; an explanation without effects ends there."""

    def __init__(self, request: Request, module: str, what: str = "") -> None:
        super().__init__(module)
        self.request = request
        self.module = module
        self.what = what


@dataclass(frozen=True, slots=True)
class Explained:
    """A response with its traces.

    Attributes:
        answer: the response; None if a handler was not run (see `Explainer`).
        requests: first the request, then its sub-requests and redirects in the order of their first hook.
        log: the lines of the error log, each message once. `unlogged`: those of the core and of mod_ssl that
            LogLevel leaves out, from level debug or info on. `plans`: the settings in force when a line was
            logged, by its code.
        final: the request whose response is sent. `not_run`: the module whose handler was not run, or "".
        what_not_run: the application that it would have run, "" for the file or a back end.
    """

    answer: Response | None
    requests: tuple[RequestTrace, ...]
    log: tuple[LogLine, ...]
    final: Request
    not_run: str = ""
    what_not_run: str = ""
    unlogged: tuple[LogLine, ...] = ()
    plans: dict[str, Plan] = field(default_factory=dict)


class TracedPlan(Plan):
    """A plan whose hooks record their results; hook makers find `tracer` in their scope.

    *logged* are the levels of the configuration; `levels` lets the lines of the core through, which give
    reasons, and those of mod_ssl that name the condition which fails.
    """

    __slots__ = ("logged",)
    tracer = Tracer()

    def __init__(
        self, cache: PlanSource, server: Server, layers: tuple[Layer, ...], records: dict[type[Any], Any]
    ) -> None:
        super().__init__(cache, server, layers, records)
        self.logged = self.levels
        others = self.levels.get("", DEFAULT_LEVEL)
        self.levels = {
            **self.levels,
            "core": max(self.levels.get("core", others), DEBUG),
            "ssl": max(self.levels.get("ssl", others), INFO),
        }

    def make_hooks(self, phase: Phase) -> list[CompiledHook]:
        """As in Plan; each hook records a trace, those of the access phases also a step of the decision."""
        recorder: HookRecorder = self.cache.recorder  # type: ignore[attr-defined]
        out = []
        for hook in self.cache.hooks[phase.index]:
            compiled = hook.make(self)
            if compiled is None:
                continue
            module = recorder.source(hook)
            if phase in TRACED_PHASES:
                name = f"{module if module[:4] == 'mod_' else 'core'} ({phase.name})"
                fn = self.tracer.wrap(
                    compiled.fn, compiled.is_async, name, None, lambda r, status: phase_verdict(status)
                )
                compiled = CompiledHook(fn, compiled.reads, compiled.is_async)
            elif phase is HANDLER:
                compiled = replace(compiled, fn=guarded(compiled, module), is_async=True)
            out.append(replace(compiled, fn=recorder.wrap(compiled, phase, module, _hooks_of), constant=None))
        return out

    @staticmethod
    async def access(r: Request) -> HookStatus:
        """Return the access phases with their outcome as the root of the request's trail."""
        trail = trace_of(r)
        status = await check_access(r)
        verdict, detail = phase_verdict(status)
        children = (*_old_lines(r), *trail.open[0])
        if not children and verdict == "granted":
            detail = "checked with the request that led here"
        trail.root = Decision("access", verdict, None, _satisfy(r, detail), children)
        trail.status = status
        return status


def _satisfy(r: Request, detail: str) -> str:
    satisfies = r.plan.provider("access", "satisfies")
    word = satisfies(r) if satisfies is not None else ""
    return ", ".join(part for part in (detail, f"Satisfy {word}" if word else "") if part)


def _old_lines(r: Request) -> list[Decision]:
    """Return the Require lines of 2.2, each with True if it applies to the request's method; every module
    that knows the first word evaluates it.
    """
    return [
        Decision(
            " ".join(("Require", line.name, *line.words)),
            "applies" if line.methods >> r.method_number & 1 else OTHER_METHODS,
            getattr(line, "place", None),
        )
        for line in r.dir_config(CoreDirConfig).requires
    ]


def _hooks_of(r: Request) -> list[HookTrace]:
    return trace_of(r).hooks


def guarded(compiled: CompiledHook, module: str) -> HookFn:
    """Return the function of a handler; one that reaches beyond this process ends a dry explanation.

    The handlers of SCRIPTS refuse requests first (ExecCGI, missing files), and then start a program.
    """
    fn = compiled.fn
    is_external = module.startswith(EXTERNAL_HANDLERS) and module not in WITHOUT_BACK_END
    if not is_external or compiled.handlers is None:
        return fn

    async def call(r: Request) -> HookStatus:
        if r.engine.is_dry and not module.startswith(SCRIPTS):  # type: ignore[attr-defined]
            raise HandlerNotRun(r, module)
        try:
            with reported_programs() if r.engine.is_dry else nullcontext():  # type: ignore[attr-defined]
                status = fn(r)
                return status if isinstance(status, int) else await status
        except ProgramReported as reported:
            raise HandlerNotRun(r, module, str(reported)) from None

    return call


class TracedPlanCache(PlanCache):
    """Traced plans, and the parts of each merged layer."""

    __slots__ = ("parts", "recorder")

    def __init__(self, configuration: Configuration) -> None:
        super().__init__(configuration)
        self.recorder = HookRecorder(configuration.modules.modules)
        self.parts: dict[Layer, tuple[Layer, ...]] = {}

    def plan(self, server: Server, layers: tuple[Layer, ...], records: dict[type[Any], Any]) -> Plan:
        """Return a traced plan."""
        return TracedPlan(self, server, layers, records)

    def merge_layers(self, base: Layer | None, over: Layer) -> Layer:
        """As without explanations, and remember the parts."""
        layer = super().merge_layers(base, over)
        if base is not None:
            self.parts[layer] = (*self.parts.get(base, (base,)), over)
        return layer

    def contributions(self, plan: Plan) -> tuple[MergedSection, ...]:
        """Return the sections and files of a plan in the order of merging."""
        written: dict[Layer, Section] = {}
        for server in (self.configuration.main, plan.server_rec):
            _collect([*server.directories, *server.locations], written)
            _collect_inner(server.defaults, written)
        flat = [part for layer in plan.layers for part in self.parts.get(layer, (layer,))]
        for layer in flat:
            _collect_inner(layer, written)
        return tuple(_contribution(self.configuration, layer, written.get(layer)) for layer in flat)


def _collect(sections: list[Section], written: dict[Layer, Section]) -> None:
    for section in sections:
        if section.layer not in written:
            written[section.layer] = section
            _collect_inner(section.layer, written)


def _collect_inner(layer: Layer, written: dict[Layer, Section]) -> None:
    """The <Files> and <If> sections that stand in *layer*."""
    core = layer.records.get(CoreDirConfig)
    if core is not None:
        _collect([s for known in (core.files, core.ifs) if known is not UNSET for s in known], written)


def _contribution(configuration: Configuration, layer: Layer, section: Section | None) -> MergedSection:
    if section is None and layer.kind is SectionKind.SERVER and layer.place is not None:  # <Proxy>
        nodes = (node for node in all_nodes(configuration.tree) if node.place == layer.place)
        opening = next((f"{node.name} {node.args}" for node in nodes), layer.place.path)
        return MergedSection(layer.kind.value, opening, layer.place)
    if section is None or layer.kind is SectionKind.HTACCESS:
        return MergedSection(layer.kind.value, layer.place.path if layer.place else "", layer.place)
    subject = section.condition or section.pattern
    return MergedSection(
        layer.kind.value, f"{layer.kind.value} {subject}>" if subject else f"{layer.kind.value}>", layer.place
    )


class _MutedRuntime:
    """A runtime that discards log lines and collects the steps of rewriting; everything else is delegated."""

    def __init__(self, real: Runtime) -> None:
        self._real = real
        self.rewriting: list[Any] = getattr(real, "rewriting", [])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def write_log(self, sink: LogSink, data: bytes) -> None:
        """Discard the line: explaining a request writes no logs."""


class TracingEngine(Engine):
    """The engine of one explanation."""

    def __init__(
        self,
        configuration: Configuration,
        runtime: Runtime,
        plans: TracedPlanCache,
        htaccess: HtaccessResolver,
        is_dry: bool,
    ) -> None:
        super().__init__(configuration, runtime)
        self.is_general_only = True
        self.is_dry = is_dry
        self.plans = plans
        self.htaccess = htaccess
        self.traced_plans = plans
        self.traces: dict[Request, TraceBuilder] = {}
        self.logging_plans: dict[str, Plan] = {}

    def log_request(self, r: Request, line: LogLine) -> None:
        """As in Engine, and remember the settings in force: a request that a walk refuses loses them."""
        self.logging_plans[line.code] = r.plan
        super().log_request(r, line)

    def trace(self, r: Request) -> TraceBuilder:
        """Return the trail of *r*, begun at its first decision."""
        trace = self.traces.get(r)
        if trace is None:
            trace = TraceBuilder()
            self.traces[r] = trace
        return trace

    def request_traces(self) -> tuple[RequestTrace, ...]:
        """Return the traces of all requests."""
        return tuple(
            RequestTrace(
                _kind(r),
                r.method,
                r.uri,
                r.filename or "",
                self.traced_plans.contributions(r.plan),
                trail.status,
                trail.root,
                tuple(trail.hooks),
                r.plan,
                trail.refused,
                trail.has_no_override,
            )
            for r, trail in self.traces.items()
        )


class TracedHtaccess(HtaccessResolver):
    """A resolver that records the line of a .htaccess file that ends a request."""

    __slots__ = ()

    def layer(self, r: Request, directory: str, rules: HtaccessPolicy, probes: list[Probe]) -> Layer | None:
        try:
            return super().layer(r, directory, rules, probes)
        except HtaccessError as problem:
            trail = trace_of(r)
            trail.refused = problem.refused
            trail.has_no_override = bool(rules.override.bits & Context.OR_UNSET)
            raise


class Explainer:
    """Answers requests as an engine of the same configuration and explains the responses; writes no logs,
    caches no responses.

    Attributes:
        state: what is put into the `worker_state` of each engine.
        is_dry: handlers that start programs or open connections do not run; the explanation ends there.
        stat_cache: looks at files that are used in the place of new ones.
    """

    def __init__(self, configuration: Configuration, runtime: Runtime, *, is_dry: bool = False) -> None:
        self._configuration = configuration
        self._runtime = runtime
        self.is_dry = is_dry
        self._plans = TracedPlanCache(configuration)
        self._htaccess = TracedHtaccess(configuration, self._plans)
        self.state: dict[str, Any] = {}
        self.stat_cache: TickStatCache | None = None

    def explain(
        self, connection: Connection, head: Head, body: RequestBody
    ) -> Explained | Awaitable[Explained]:
        """Return the explanation, or an awaitable of it if the engine has to wait."""
        return run_until_suspended(self._explain(connection, head, body))

    async def _explain(self, connection: Connection, head: Head, body: RequestBody) -> Explained:
        runtime: Any = _MutedRuntime(self._runtime)
        engine = TracingEngine(self._configuration, runtime, self._plans, self._htaccess, self.is_dry)
        engine.worker_state.update(self.state)
        if self.stat_cache is not None:
            engine.stat_cache = self.stat_cache
        response = None
        not_run = ""
        what_not_run = ""
        try:
            response = await engine.answer(connection, head, body)
            final = response.request
        except HandlerNotRun as stop:
            final = stop.request
            not_run = stop.module
            what_not_run = stop.what
        requests = dict.fromkeys((*(r for r in engine.traces if r.main is None), final))
        lines = {(line.code, line.text): line for r in requests for line in r.log_lines}.values()
        logged = final.plan.logged  # type: ignore[attr-defined]
        return Explained(
            response,
            engine.request_traces(),
            tuple(line for line in lines if enabled(logged, line.module, line.level)),
            final,
            not_run,
            what_not_run,
            tuple(line for line in lines if not enabled(logged, line.module, line.level)),
            engine.logging_plans,
        )


def _kind(r: Request) -> str:
    if r.initial:
        return "request"
    return "sub-request" if r.prev is None else "redirect"
