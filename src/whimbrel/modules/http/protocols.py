"""Protocol upgrades: the allowed Protocols, the Upgrade field of first responses, the switch (RFC 9110, 7.8).

A module that can speak another protocol registers the provider ("protocol", "propose"): a function of the
request and the offered names that returns one of them or None. On a 101 response whose connection has the
note `SWITCHED` the server hands the connection over. Manual: mod/core.html#protocols.
"""

from __future__ import annotations

from whimbrel.base.numbers import strip
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.engine.request import Request
from whimbrel.http.syntax.fields import has_token
from whimbrel.registry.methods import NAMES
from whimbrel.registry.module import CompiledHook, Reads, Scope
from whimbrel.registry.phases import DECLINED, DONE, HookStatus

HTTP1 = "http/1.1"
SWITCHED = "switched-to"
_UPGRADE = frozenset(("upgrade",))
_OPTIONS = list(NAMES).index("OPTIONS")


def announced(protocols: list[str]) -> str:
    """Return the protocols that a response over HTTP/1.1 announces: those preferred to it."""
    before = protocols[: protocols.index(HTTP1)] if HTTP1 in protocols else protocols
    return ",".join(before)


def choose(protocols: list[str], honor: bool, offers: list[str], proposal: str | None) -> str | None:
    """Return the protocol to switch to, None to stay (ap_select_protocol)."""
    candidates = [
        name
        for name in (proposal, HTTP1 if HTTP1 in offers else None)
        if name is not None and name in protocols
    ]
    order = protocols if honor else offers
    chosen = min(
        candidates, key=lambda name: order.index(name) if name in order else len(order), default=HTTP1
    )
    return None if chosen == HTTP1 else chosen


def _log_choice(
    r: Request, protocols: list[str], honor: bool, offers: list[str], proposal: str | None, chosen: str
) -> None:
    """Log how a protocol was selected."""
    configured = ",".join(protocols)
    offered = ",".join(offers)
    text = f"select protocol from {configured}, choices={offered} for server {r.server.name}"
    r.log("debug", text, code="AH03155")
    text = f"select protocol, proposals={proposal or ''} preferences={configured if honor else offered}"
    r.log("debug", f"{text} configured={configured}", code="AH03156")
    r.log("debug", f"selected protocol={chosen}", code="AH03157")


def make_upgrade(scope: Scope) -> CompiledHook | None:
    """Make the hook that announces protocols on the first response of a connection, or switches."""
    core = scope.server_config(CoreServerConfig)
    protocols = core.protocols
    honor = core.protocols_honor_order
    names = announced(protocols)
    propose = scope.provider("protocol", "propose")
    if not protocols:
        return None

    def upgrade(r: Request) -> HookStatus:
        if r.connection.is_http2:
            return DECLINED
        requested = None if r.headers_in.has_none(_UPGRADE) else r.headers_in.get_list("Upgrade")
        if requested:
            return _switched(r, requested)
        if names and not r.connection.served:
            r.headers_out.set("Upgrade", names)
            r.headers_out.set("Connection", "Upgrade")  # the response cache has first responses apart
        return DECLINED

    def _switched(r: Request, requested: str) -> HookStatus:
        if (
            not has_token(r.headers_in.get_list("Connection"), "upgrade")
            or propose is None
            or r.main is not None
            or r.prev is not None
        ):
            return DECLINED
        offers = [strip(word) for word in requested.split(",")]
        proposal = propose(r, offers)
        chosen = choose(protocols, honor, offers, proposal)
        _log_choice(r, protocols, honor, offers, proposal, chosen or HTTP1)
        if chosen is None:
            return DECLINED
        r.log("debug", f"Upgrade selects '{chosen}'", code="AH02909")
        r.status = 101
        r.connection.notes[SWITCHED] = chosen
        r.connection.is_draining = True
        r.set_uncacheable()
        return DONE

    return CompiledHook(upgrade, Reads.FIELDS)


def make_upgrade_star(scope: Scope) -> CompiledHook | None:
    """Make the same hook for OPTIONS *, which no handler receives."""
    hook = make_upgrade(scope)
    if hook is None:
        return None
    upgrade = hook.fn

    def star(r: Request) -> HookStatus:
        if r.method_number != _OPTIONS or r.uri != "*":
            return DECLINED
        status = upgrade(r)
        assert isinstance(status, int)
        return status

    return CompiledHook(star, Reads.FIELDS, methods=1 << _OPTIONS)
