"""The choice of a member among usable ones, by lbset, spares and hot standbys."""

from __future__ import annotations

from collections.abc import Callable

from whimbrel.engine.request import Request
from whimbrel.modules.proxy.mod_proxy.model import WorkerStatus
from whimbrel.modules.proxy.mod_proxy_balancer.balancer import Balancer, BalancerMember
from whimbrel.modules.proxy.mod_proxy_balancer.messages import is_logged, log_server

# function of a state and of the best one so far: True if the first is better; called once for each candidate
IsBest = Callable[[BalancerMember, BalancerMember | None], bool]
_DRAIN = WorkerStatus.DRAIN
_STANDBY = WorkerStatus.HOT_STANDBY
_SPARE = WorkerStatus.HOT_SPARE


def best_member(balancer: Balancer, r: Request, is_best: IsBest, name: str) -> BalancerMember | None:
    """Return the best usable member (ap_proxy_balancer_get_best_worker), None without one."""
    if is_logged(r, "debug", module="proxy"):
        text = f"proxy: Entering {name} for BALANCER ({balancer.name})"
        log_server(r, "debug", "AH10122", text, module="proxy")
    now = r.engine.runtime.now()
    return _best_22(balancer, now, is_best) if balancer.is_old else _best_24(balancer, now, is_best)


def log_choice(r: Request, name: str, best: BalancerMember) -> None:
    """Log which member was chosen."""
    busy = best.state.totals()[0]
    text = (
        f'proxy: {name} selected worker "{best.worker.name}" : busy {busy} : lbstatus {best.state.lbstatus}'
    )
    log_server(r, "debug", "AH10123", text, module="proxy")


def _best_24(balancer: Balancer, now: float, is_best: IsBest) -> BalancerMember | None:
    """Process lbsets in order; spares replace unusable members of their set, standbys are the last resort."""
    best: BalancerMember | None = None
    current = 0
    highest = 0
    while best is None and current <= highest:
        unusable = 0
        spares: list[BalancerMember] = []
        standbys: list[BalancerMember] = []
        for member in balancer.members:
            state = member.state
            lbset = state.lbset
            highest = max(highest, lbset)
            if lbset != current:
                continue
            status = state.status
            if status & _DRAIN:
                unusable += not status & (_SPARE | _STANDBY)
                continue
            usable = state.is_usable or (state.retry_worker(now) and state.is_usable)
            if status & _SPARE:
                spares += [member] * usable
            elif status & _STANDBY:
                standbys += [member] * usable
            elif not usable:
                unusable += 1
            elif is_best(member, best):
                best = member
        for member in spares[:unusable]:
            if is_best(member, best):
                best = member
        if best is None:
            for member in standbys:
                if is_best(member, best):
                    best = member
        current += 1
    return best


def _best_22(balancer: Balancer, now: float, is_best: IsBest) -> BalancerMember | None:
    """Process lbsets cumulatively; hot standbys are tried for each of them if no other member is usable."""
    best: BalancerMember | None = None
    current = 0
    highest = 0
    while best is None and current <= highest:
        for standby in (0, _STANDBY):
            for member in balancer.members:
                state = member.state
                lbset = state.lbset
                if not standby:
                    highest = max(highest, lbset)
                if lbset > current or state.status & _STANDBY != standby:
                    continue
                if (state.is_usable or (state.retry_worker(now) and state.is_usable)) and is_best(
                    member, best
                ):
                    best = member
            if best is not None:
                break
        current += 1
    return best
