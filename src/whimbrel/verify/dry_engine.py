"""An engine of probes whose handlers start no program and contact no back end: the probe ends there."""

from __future__ import annotations

from typing import Any, NamedTuple

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.base.programs import without_programs
from whimbrel.config.configuration import Configuration
from whimbrel.config.model import Layer, Server
from whimbrel.engine.body import JoinedSource
from whimbrel.engine.explain.explainer import HandlerNotRun, guarded
from whimbrel.engine.explain.hook_traces import HookRecorder
from whimbrel.engine.plan.plan import Plan
from whimbrel.engine.response import Response
from whimbrel.registry.module import CompiledHook
from whimbrel.registry.phases import HANDLER, Phase
from whimbrel.verify.answer import Answer
from whimbrel.verify.answering import BegunProbe, answer_of, begin_probe
from whimbrel.verify.probe import Probe
from whimbrel.verify.probe_engine import ProbeEngine, ProbePlan, ProbePlanCache


class DryAnswer(NamedTuple):
    """An answer with its body.

    Attributes:
        answer: None if a handler was not run.
        body: at most the bytes that were asked for; *is_cut*: there are more.
        not_run: the module whose handler was not run, "" for none.
    """

    answer: Answer | None
    body: bytes = b""
    is_cut: bool = False
    not_run: str = ""


class DryPlan(ProbePlan):
    """A plan whose handlers raise HandlerNotRun in the place of reaching beyond this process."""

    __slots__ = ()

    def make_hooks(self, phase: Phase) -> list[CompiledHook]:
        """As in Plan; handlers are guarded."""
        if phase is not HANDLER:
            return super().make_hooks(phase)
        recorder: HookRecorder = self.cache.recorder  # type: ignore[attr-defined]
        found = []
        for hook in self.cache.hooks[phase.index]:
            compiled = hook.make(self)
            if compiled is not None:
                found.append(_guarded(compiled, recorder.source(hook)))
        return found


def _guarded(compiled: CompiledHook, module: str) -> CompiledHook:
    fn = guarded(compiled, module)
    return compiled if fn is compiled.fn else replace(compiled, fn=fn, is_async=True, constant=None)


class DryPlanCache(ProbePlanCache):
    """The plans of a `DryEngine`."""

    __slots__ = ("recorder",)

    def __init__(self, configuration: Configuration) -> None:
        super().__init__(configuration)
        self.recorder = HookRecorder(configuration.modules.modules)

    def plan(self, server: Server, layers: tuple[Layer, ...], records: dict[type[Any], Any]) -> Plan:
        """Return a plan with guarded handlers."""
        return DryPlan(self, server, layers, records)


class DryEngine(ProbeEngine):
    """An engine of probes whose handlers start no program and contact no back end."""

    is_dry = True
    plan_cache = DryPlanCache

    def answer_with_body(self, probe: Probe, limit: int) -> DryAnswer:
        """Return the answer to *probe* with at most *limit* bytes of its body."""
        begun = begin_probe(self, probe)
        if begun is None:
            return DryAnswer(Answer(400, dialect=self.configuration.dialect.name))
        with without_programs():
            return self.loop.run_until_complete(self._answer_begun(begun, limit))

    async def _answer_begun(self, begun: BegunProbe, limit: int) -> DryAnswer:
        try:
            response = await self.answer(*begun)
            body, is_cut = await _body(response, limit)
        except HandlerNotRun as stop:
            return DryAnswer(None, not_run=stop.module)
        date = self.http_date(self.probe_runtime.now())
        return DryAnswer(answer_of(self, response, "", len(body), date), body, is_cut)


async def _body(response: Response, limit: int) -> tuple[bytes, bool]:
    """Return at most *limit* bytes of a body, and True if there are more."""
    source = JoinedSource(response.parts)
    body = bytearray()
    try:
        while len(body) <= limit and (piece := await source.read()) is not None:
            body += piece
    except ConnectionError:
        response.request.connection.aborted = True
    finally:
        await source.aclose()
    return bytes(body[:limit]), len(body) > limit
