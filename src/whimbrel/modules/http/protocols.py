"""Protocol upgrades: the allowed Protocols, the Upgrade field of first responses, the switch (RFC 9110, 7.8).

A module that can speak another protocol registers the provider ("protocol", "propose"): a function of the
request and the offered names that returns one of them or None. On a 101 response whose connection has the
note `SWITCHED` the server hands the connection over. Manual: mod/core.html#protocols.
"""

from __future__ import annotations

from whimbrel.base.lazy_re import compile
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.engine.request import Request
from whimbrel.http.syntax.fields import has_token
from whimbrel.registry.methods import NAMES
from whimbrel.registry.module import CompiledHook, Reads, Scope
from whimbrel.registry.phases import DECLINED, DONE, HookStatus

HTTP1 = "http/1.1"
SWITCHED = "switched-to"
_UPGRADE = frozenset(("upgrade",))
_TCHAR = r"[-!#$%&'*+.^_`|~0-9A-Za-z]"
_IN_TOKEN = compile(_TCHAR)
_OFFER = compile(rf"(?s)[ \t]*({_TCHAR}*)[ \t]*(.?)")
_OPTIONS = list(NAMES).index("OPTIONS")


def announced(protocols: list[str]) -> str:
    """Return the protocols that a response over HTTP/1.1 announces: those preferred to it."""
    before = protocols[: protocols.index(HTTP1)] if HTTP1 in protocols else protocols
    return ",".join(before)


def offers_of(field: str) -> tuple[list[str], str]:
    """Return the names in an Upgrade field, and "" or what is wrong with it (ap_parse_token_list_strict): a
    name with a version (RFC 9110, 7.8) has a character that is no part of a token.
    """
    offers = []
    for word in field.split(","):
        found = _OFFER.match(word)
        assert found is not None  # the expression matches any text
        name, following = found.groups()
        if following and _IN_TOKEN.match(following):
            return [], "Encountered illegal whitespace in token"
        if following:
            return [], f"Encountered illegal separator '\\x{ord(following):02x}'"
        if name:
            offers.append(name)
    return offers, ""


def _log_choice(
    r: Request, protocols: list[str], honor: bool, offers: list[str], proposal: str | None, chosen: str | None
) -> None:
    """Log how a protocol was selected (ap_select_protocol)."""
    configured = ",".join(protocols)
    offered = ",".join(offers)
    text = f"select protocol from {configured}, choices={offered} for server {r.server.name}"
    r.log("debug", text, code="AH03155")
    if proposal is not None:
        text = f"select protocol, proposals={proposal} preferences={configured if honor else offered}"
        r.log("debug", f"{text} configured={configured}", code="AH03156")
    r.log("debug", f"selected protocol={chosen or '(none)'}", code="AH03157")


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
        offers, problem = offers_of(requested)
        if problem:
            r.log("debug", f"parsing Upgrade header: {problem}", code="AH02910")
            return DECLINED
        proposal: str | None = propose(r, offers)
        chosen = proposal if proposal in protocols else None
        _log_choice(r, protocols, honor, offers, proposal, chosen)
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
