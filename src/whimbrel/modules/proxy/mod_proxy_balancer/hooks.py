"""The balancer's part of a proxied request: choice of a member before, error state after each attempt."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, Final

from whimbrel.base.numbers import lower
from whimbrel.engine.body import Source
from whimbrel.http.syntax.target import split_url
from whimbrel.modules.proxy.mod_proxy.canonical_url import PREFIX, UrlPart, canonical_encoding
from whimbrel.modules.proxy.mod_proxy.model import (
    BALANCER_PREFIX,
    WorkerStatus,
    find_balancer,
    is_balancer_url,
)
from whimbrel.modules.proxy.mod_proxy.url_authority import UNSENDABLE
from whimbrel.modules.proxy.mod_proxy.worker_state import ProxyWorkerState, worker_states
from whimbrel.modules.proxy.mod_proxy_balancer.balancer import Balancer, BalancerMember, balancer_of
from whimbrel.modules.proxy.mod_proxy_balancer.messages import log, log_server, refuse
from whimbrel.modules.proxy.mod_proxy_balancer.sessions import SessionRoute, session_route
from whimbrel.registry.phases import DECLINED, OK, HookStatus

if TYPE_CHECKING:
    from whimbrel.engine.request import Request
    from whimbrel.modules.proxy.mod_proxy.scheme import ProxyCall

_STEPS: Final = 100  # of a wait for a free member
_UNUSABLE: Final = "All workers are in error state"


class BalancerScheme:
    """The scheme ``balancer``: it has canonical URLs; members answer by their own schemes."""

    def canonicalize(self, r: Request, url: str) -> HookStatus:
        """Set `r.filename` to the canonical URL (proxy_balancer_canon)."""
        if lower(url[:9]) != BALANCER_PREFIX[:9]:
            return DECLINED
        rest = url[9:]
        host, slash, path = rest[2:].partition("/") if rest[:2] == "//" else ("", "", "")
        parts = split_url(f"http://{host}/")
        if parts is None or not parts.hostname or rest[:2] != "//":
            log(r, "error", "AH01157", f"error parsing URL {rest}: Malformed URL")
            return 400
        encoded: str | None = path
        search = ""
        if "proxy-nocanon" not in r.notes:
            encoded = canonical_encoding(path, UrlPart.PATH)
            search = "" if r.args is None else f"?{r.args}"
        if encoded is None:
            return 400
        r.filename = f"{PREFIX}{BALANCER_PREFIX}{lower(parts.hostname)}/{encoded}{search}"
        r.path_info = "/" + encoded
        return OK

    def handle(self, call: ProxyCall) -> HookStatus:
        """Decline: the URL is that of a member by now."""
        return DECLINED


class BalancerRequests:
    """What mod_proxy calls around each attempt (`scheme.py`)."""

    def pre_request(self, call: ProxyCall) -> HookStatus | Awaitable[HookStatus]:
        """Choose a member; see `scheme.BalancerHooks`."""
        call.worker = None
        conf = call.balancer
        if conf is None:
            conf = find_balancer(call.conf.balancers, call.url) if is_balancer_url(call.url) else None
        if conf is None:
            return DECLINED
        r, call.balancer = call.r, conf
        balancer = balancer_of(r.engine, conf)
        now = r.engine.runtime.now()
        _force_recovery(balancer, r, now)
        balancer.synchronize()
        session = session_route(balancer, r, call.url, now)
        if session.member is not None:
            _count_session(balancer, session.member)
            return _chosen(call, balancer, session.member, session)
        if session.route is not None and balancer.forced and _has_route(balancer, session.route):
            text = f"{_UNUSABLE} for route ({session.route})"
            refuse(r, balancer.is_old, balancer.name, "AH01167", text)
            return 503
        member = balancer.lbmethod.find(balancer, r)
        if member is None and balancer.timeout:
            return _wait(call, balancer, session)
        return _finish(call, balancer, session, member)

    def post_request(self, call: ProxyCall) -> HookStatus:
        """Mark the member as failed by status or timeout, as failonstatus and failontimeout require."""
        r = call.r
        conf = call.balancer
        worker = call.worker
        if conf is None or worker is None:
            return OK
        _end_with_body(call)
        parameters = conf.parameters
        state = worker_states(r.engine)[worker]
        now = r.engine.runtime.now()
        name = conf.name
        old = not r.plan.dialect.messages_24
        prefix = f"proxy: BALANCER: ({name}).  Forcing" if old else f"{name}: Forcing"
        text = f"{prefix} worker ({worker.printed}) into error state"
        if r.status in parameters.failonstatus and state.set_error(now):
            reason = f"due to status code {r.status} matching 'failonstatus' balancer parameter"
            log(r, "error", "AH01174", f"{text} {reason}")
        if parameters.failontimeout and "proxy_timedout" in r.notes and state.set_error(now):
            reason = "due to timeout and 'failontimeout' parameter being set"
            log(r, "error", "AH02460", f"{text} {reason}")
        if not old:
            log(r, "debug", "AH01176", f"proxy_balancer_post_request for ({name})")
        return OK

    def set_error(self, call: ProxyCall) -> None:
        """Mark the member as failed, unless it ignores errors."""
        if call.worker is not None:
            worker_states(call.r.engine)[call.worker].set_error(call.r.engine.runtime.now())

    def is_usable(self, call: ProxyCall) -> bool:
        """Return True if the worker of *call* may be chosen."""
        return call.worker is not None and worker_states(call.r.engine)[call.worker].is_usable

    def max_attempts(self, call: ProxyCall) -> int:
        """Return how many further members are tried after the first."""
        return 0 if call.balancer is None else balancer_of(call.r.engine, call.balancer).max_attempts

    def give_up(self, call: ProxyCall) -> None:
        """Count the request as ended."""
        states, call.elected = call.elected, []
        for state in states:
            state.end()


def _force_recovery(balancer: Balancer, r: Request, now: float) -> None:
    """Clear the errors of all members if all have failed."""
    for member in balancer.members:
        if member.state.retry_worker(now):
            return
    if not balancer.conf.parameters.forcerecovery:
        return
    for member in balancer.members:
        member.state.retries += 1
        member.state.set_status(WorkerStatus.IN_ERROR, False)
        text = f"{balancer.name}: Forcing recovery for worker ({member.worker.hostname})"
        if balancer.is_old:
            text = (
                f"proxy: BALANCER: ({balancer.name}). Forcing recovery for worker ({member.worker.hostname})"
            )
        log_server(r, "debug", "AH01165", text)


def _count_session(balancer: Balancer, chosen: BalancerMember) -> None:
    """Rotate as if the method had elected *chosen*."""
    total = 0
    for member in balancer.members:
        if member.state.is_usable:
            factor = member.state.lbfactor
            member.state.lbstatus += factor
            total += factor
    chosen.state.lbstatus -= total
    chosen.state.elect()


def _has_route(balancer: Balancer, route: str) -> bool:
    return any(member.state.route == route for member in balancer.members)


async def _wait(call: ProxyCall, balancer: Balancer, session: SessionRoute) -> HookStatus:
    """Try again until a member is usable or the balancer's timeout has passed."""
    member = None
    step = balancer.timeout / _STEPS
    for _ in range(_STEPS):
        await asyncio.sleep(step)
        member = balancer.lbmethod.find(balancer, call.r)
        if member is not None:
            break
    return _finish(call, balancer, session, member)


def _finish(
    call: ProxyCall, balancer: Balancer, session: SessionRoute, member: BalancerMember | None
) -> HookStatus:
    """Send the request to the elected *member*; 503 without one."""
    if member is None:
        is_empty = not (balancer.members or balancer.is_old)
        text, code = ("No workers in balancer", "AH01171") if is_empty else (_UNUSABLE, "AH01170")
        refuse(call.r, balancer.is_old, balancer.name, code, text)
        return 503
    member.state.elect()
    if balancer.sticky:
        call.r.env["BALANCER_ROUTE_CHANGED"] = "1"
    return _chosen(call, balancer, member, session)


def _chosen(call: ProxyCall, balancer: Balancer, member: BalancerMember, session: SessionRoute) -> HookStatus:
    """Set worker and URL of *call*, and the environment."""
    r = call.r
    worker = member.worker
    member.state.begin()
    call.elected.append(member.state)
    env = r.env
    env["BALANCER_NAME"] = balancer.name
    env["BALANCER_WORKER_NAME"] = worker.name
    env["BALANCER_WORKER_ROUTE"] = member.state.route
    if session.route is not None:
        r.notes["session-sticky"] = session.name
        r.notes["session-route"] = session.route
        env["BALANCER_SESSION_STICKY"] = session.name
        env["BALANCER_SESSION_ROUTE"] = session.route
    _, _, rest = call.url.partition("://")
    _, slash, path = rest.partition("/")
    call.worker = worker
    call.url = worker.name + slash + path
    if not balancer.is_old:
        r.filename = PREFIX + call.url
        text = f"{balancer.name}: worker ({worker.name}) rewritten to {call.url}"
        log(r, "debug", "AH01172", text)
        if UNSENDABLE(path):  # the scheme of the member makes the canonical form once more
            text = "To be forwarded path contains control characters or spaces"
            r.log("error", text, code="AH10415", module="proxy_http")
            return 403
    return OK


# Busy members -----------------------------------------------------------------------------------
class _Counted(Source):
    """A source whose end is that of the request for the members that are busy with it."""

    __slots__ = ("_source", "_states")

    def __init__(self, source: Source, states: list[ProxyWorkerState]) -> None:
        self._source = source
        self._states = states

    async def read(self) -> bytes | None:
        data = await self._source.read()
        if data is None:
            self._end()
        return data

    def read_now(self) -> bytes | None:
        data = self._source.read_now()
        if data is None:
            self._end()
        return data

    async def read_or_flush(self) -> bytes | None:
        data = await self._source.read_or_flush()
        if data is None:
            self._end()
        return data

    def drop(self) -> None:
        self._end()
        self._source.drop()

    async def aclose(self) -> None:
        self._end()
        await self._source.aclose()

    def _end(self) -> None:
        states, self._states = self._states, []
        for state in states:
            state.end()


def _end_with_body(call: ProxyCall) -> None:
    """Let the members be busy until the body of the response has ended."""
    r, states, call.elected = call.r, call.elected, []
    takeover = r.takeover
    if takeover is not None:

        def take(transport: Any, done: Any) -> Any:
            def ended(sent: int, received: int) -> None:
                for state in states:
                    state.end()
                done(sent, received)

            return takeover(transport, ended)

        r.takeover = take
        return
    for at in range(len(r.body) - 1, -1, -1):
        part = r.body[at]
        if isinstance(part, Source):
            r.body[at] = _Counted(part, states)
            return
    for state in states:
        state.end()
