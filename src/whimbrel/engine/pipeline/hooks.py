"""Run the hooks of one phase: httpd's run-first, run-all and void hooks (ap_hooks.h)."""

from __future__ import annotations

from whimbrel.engine.request import Request
from whimbrel.registry.phases import DECLINED, HookStatus, Phase


async def run_phase(r: Request, phase: Phase) -> HookStatus:
    """Run the hooks of *phase* that the request's plan has, until one ends it."""
    status = r.plan.phase(phase).run(r)
    return status if type(status) is int else await status


def config_error(r: Request, status: HookStatus, what: str) -> HookStatus:
    """httpd's decl_die: where every module declined what must be decided, the configuration is at fault."""
    if status != DECLINED:
        return status
    r.log("crit", f"configuration error:  couldn't {what}: {r.uri}", code="AH00025")
    return 500
