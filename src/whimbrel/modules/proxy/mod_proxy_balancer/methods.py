"""The methods byrequests, bytraffic and bybusyness, which 2.2 has in mod_proxy_balancer."""

from __future__ import annotations

from whimbrel.base.static_typing import Final
from whimbrel.engine.request import Request
from whimbrel.modules.proxy.mod_proxy_balancer.balancer import Balancer, BalancerMember
from whimbrel.modules.proxy.mod_proxy_balancer.election import best_member, log_choice


class _Rotation:
    """Weighted rotation: each candidate gains its load factor, the chosen one loses the sum."""

    name = ""

    def find(self, balancer: Balancer, r: Request) -> BalancerMember | None:
        """Return the member whose turn it is."""
        total = 0

        def is_best(member: BalancerMember, best: BalancerMember | None) -> bool:
            nonlocal total
            state = member.state
            factor = state.lbfactor
            state.lbstatus += factor
            total += factor
            return best is None or self._precedes(member, best)

        best = best_member(balancer, r, is_best, self.name)
        if best is not None:
            best.state.lbstatus -= total
            log_choice(r, self.name, best)
        return best

    def _precedes(self, member: BalancerMember, best: BalancerMember) -> bool:
        return member.state.lbstatus > best.state.lbstatus

    def reset(self, balancer: Balancer) -> None:
        """Begin the rotation anew."""
        for member in balancer.members:
            member.state.lbstatus = 0


class ByRequests(_Rotation):
    """Each member gets its share of the requests."""

    name = "byrequests"


class ByBusyness(_Rotation):
    """The member with the fewest requests in hand; equals take turns."""

    name = "bybusyness"

    def _precedes(self, member: BalancerMember, best: BalancerMember) -> bool:
        busy = member.state.totals()[0]
        least = best.state.totals()[0]
        return busy < least or (busy == least and super()._precedes(member, best))


class ByTraffic:
    """The member with the least traffic for its load factor."""

    name = "bytraffic"

    def find(self, balancer: Balancer, r: Request) -> BalancerMember | None:
        """Return the member with the least traffic, the first of equals."""
        least = 0

        def is_best(member: BalancerMember, best: BalancerMember | None) -> bool:
            nonlocal least
            factor = member.state.lbfactor
            _, _, transferred, read = member.state.totals()
            traffic = transferred // factor + read // factor
            if best is None or traffic < least:
                least = traffic
                return True
            return False

        best = best_member(balancer, r, is_best, self.name)
        if best is not None:
            log_choice(r, self.name, best)
        return best

    def reset(self, balancer: Balancer) -> None:
        """Count traffic from now on."""
        for member in balancer.members:
            member.state.reset_traffic()


BY_NAME: Final = {kind.name: kind for kind in (ByRequests, ByTraffic, ByBusyness)}
