"""Run the hooks of one phase: httpd's run-first, run-all and void hooks (ap_hooks.h)."""

from __future__ import annotations

from whimbrel.engine.request import Request
from whimbrel.registry.phases import DECLINED, HookStatus, Phase


async def run_phase(r: Request, phase: Phase) -> HookStatus:
    """Run the hooks of *phase* that the request's plan has, until one ends it."""
    status = r.plan.phase(phase).run(r)
    return status if type(status) is int else await status


def config_error(r: Request, status: HookStatus, what: str) -> HookStatus:
    """Return the error of a phase, and log it (decl_die).

    Where every module declined what must be decided, the configuration is at fault.
    """
    if status != DECLINED:
        if r.plan.is_traced:
            r.log("trace3", f"auth phase '{what}' gave status {status}: {r.uri}")
        return status
    r.log("crit", f"configuration error:  couldn't {what}: {r.uri}", code="AH00025")
    return 500
