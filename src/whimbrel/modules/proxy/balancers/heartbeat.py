"""The method heartbeat: the chance of a member grows with its idle workers."""

from __future__ import annotations

import secrets
from math import trunc
from typing import TYPE_CHECKING, Final

from whimbrel.modules.support.heartbeats import NAME, UNSIGNED, Heartbeat, read_file, read_memory

if TYPE_CHECKING:
    from whimbrel.engine.request import Request
    from whimbrel.modules.proxy.mod_proxy_balancer.balancer import Balancer, BalancerMember

MAX_AGE: Final = 10  # seconds after which a report no longer counts


class ByHeartbeat:
    """Reads the reports at each election: from shared memory, or from the file *path*."""

    name = "heartbeat"

    def __init__(self, path: str) -> None:
        self.path = path

    def find(self, balancer: Balancer, r: Request) -> BalancerMember | None:
        """Return a usable member that has reported idle workers (find_best_hb)."""
        reports = self._reports(r)
        now = r.engine.runtime.now()
        up: list[tuple[BalancerMember, int]] = []
        for member in balancer.members:
            report = reports.get(member.worker.hostname)
            if report is None:
                continue
            state = member.state
            if not state.is_usable:
                state.retry_worker(now)
            if state.is_usable and report.seen < MAX_AGE:
                # a server without busy workers has just started: a quarter of its idle ones count
                ready = report.ready if report.busy else trunc(report.ready / 4)
                up.append((member, ready & UNSIGNED))
        slots = sum(ready for _, ready in up) & UNSIGNED
        if slots == 0:
            return None
        pick = secrets.randbelow(slots + 1)
        counted = 0
        best = None
        for member, ready in up:
            if counted <= pick <= counted + ready:
                best = member
            counted += ready
        return best

    def _reports(self, r: Request) -> dict[str, Heartbeat]:
        if r.engine.configuration.provider("heartmonitor", "memory"):
            return read_memory(r.engine.runtime.segment(NAME), r.engine.runtime.now())
        try:
            return read_file(self.path)
        except OSError as problem:
            text = f"lb_heartbeat: Unable to read heartbeats at '{self.path}'"
            cause = f"({problem.errno}){problem.strerror}"
            r.log("error", text, code="AH01213", module="lbmethod_heartbeat", cause=cause)
            return {}

    def reset(self, balancer: Balancer) -> None:
        """Do nothing: the method keeps no state."""
