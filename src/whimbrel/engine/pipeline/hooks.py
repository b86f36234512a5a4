"""Run the compiled hooks of one phase: httpd's run-first, run-all and void hooks (ap_hooks.h).

Every function returns OK, DECLINED, DONE or an HTTP status.
"""

from __future__ import annotations

from typing import Any

from whimbrel.engine.plan.compiled_phase import CompiledPhase, Hooks
from whimbrel.engine.request import Request
from whimbrel.registry.phases import (
    DECLINED,
    OK,
    HookStatus,
    Phase,
)


async def run_phase(r: Request, phase: Phase) -> HookStatus:
    """Run the hooks of *phase* that the request's plan has, until one ends it."""
    ready = r.plan.phase(phase)
    return await run(r, ready) if ready.constant is None else ready.constant


async def run(r: Request, ready: CompiledPhase, hooks: Hooks | None = None) -> HookStatus:
    """Run the hooks of a phase without constant result; *hooks* is a subset, where the caller knows which may
    act.
    """
    if hooks is None:
        hooks = ready.hooks if r.method_number else ready.get_hooks
    if not ready.is_cacheable:
        r.deps.is_uncacheable = True
    if ready.client:
        r.deps.on_client = True
    passes = ready.continue_on
    for hook, waits in hooks:
        result: Any = hook(r)
        if waits and result.__class__ is not int and not isinstance(result, int):
            result = await result
        if passes is not None and result not in passes:
            status: HookStatus = result
            return status
    return DECLINED if passes is not None and OK not in passes else OK


def run_sync(r: Request, ready: CompiledPhase) -> HookStatus:
    """`run` for a phase of which no hook waits."""
    if not ready.is_cacheable:
        r.deps.is_uncacheable = True
    if ready.client:
        r.deps.on_client = True
    passes = ready.continue_on
    for hook, _waits in ready.hooks if r.method_number else ready.get_hooks:
        result: Any = hook(r)
        if passes is not None and result not in passes:
            status: HookStatus = result
            return status
    return DECLINED if passes is not None and OK not in passes else OK


def config_error(r: Request, status: HookStatus, what: str) -> HookStatus:
    """httpd's decl_die: where every module declined what must be decided, the configuration is at fault."""
    if status != DECLINED:
        return status
    r.log("crit", f"configuration error:  couldn't {what}: {r.uri}", code="AH00025")
    return 500
