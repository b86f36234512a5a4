"""Sticky sessions: the route in a URL parameter or a cookie, and the member that has it."""

from __future__ import annotations

import re
from typing import NamedTuple

from whimbrel.base.lazy_re import compile
from whimbrel.engine.request import Request
from whimbrel.modules.proxy.mod_proxy.model import WorkerStatus
from whimbrel.modules.proxy.mod_proxy_balancer.balancer import Balancer, BalancerMember
from whimbrel.modules.proxy.mod_proxy_balancer.messages import log

_ANY_DELIMITER = compile(r"[?&]+")
_SEMICOLON_TOO = compile(r"[;?&]+")
_BLANKS = " \t\n\v\f\r"


class SessionRoute(NamedTuple):
    """What a request has of its session.

    Attributes:
        member: the member with its route, None if no usable one has it.
        route: the route, None without one. `name`: the cookie or parameter that it was in.
    """

    member: BalancerMember | None = None
    route: str | None = None
    name: str = ""


def path_parameter(url: str, name: str, *, has_semicolons: bool) -> str | None:
    """Return the value of the parameter *name* in *url*, None without one (get_path_param)."""
    delimiters = _SEMICOLON_TOO if has_semicolons else _ANY_DELIMITER
    at = url.find(name)
    while at >= 0:
        end = at + len(name)
        if url[end : end + 1] == "=" and len(url) > end + 1:
            words = [word for word in delimiters.split(url[end + 1 :]) if word]
            return words[0] if words else None
        at = url.find(name, end + 1)
    return None


def cookie_value(cookies: str, name: str) -> str | None:
    """Return the value of the cookie *name*, None without one (get_cookie_param)."""
    at = cookies.find(name)
    while at >= 0:
        if at == 0 or cookies[at - 1] in ";," + _BLANKS:
            rest = cookies[at + len(name) :].lstrip(_BLANKS)
            if rest[:1] == "=" and len(rest) > 1:
                return re.split("[;,]", rest[1:], maxsplit=1)[0]
        at = cookies.find(name, at + 1)
    return None


def session_route(balancer: Balancer, r: Request, url: str, now: float) -> SessionRoute:
    """Return the route of the session of *r* and its member (find_session_route)."""
    cookie = balancer.sticky
    if not cookie:
        return SessionRoute()
    path = balancer.sticky_path
    parameters = balancer.conf.parameters
    name = path
    code = "AH01159"
    value = path_parameter(url, path, has_semicolons=parameters.scolonpathdelim)
    if value is None:
        name = cookie
        code = "AH01160"
        value = cookie_value(r.headers_in.get("Cookie") or "", cookie)
    if value is None:
        return SessionRoute()
    _debug(r, balancer, code, f"Found value {value} for stickysession {name}")
    separator = parameters.stickysessionsep
    if separator:
        _, found, value = value.partition(separator)
        if not found:
            return SessionRoute()
    if not value:
        return SessionRoute(route=value, name=name)
    _debug(r, balancer, "AH01161", f"Found route {value}")
    member = route_member(balancer, value, now)
    if member is not None and member.state.route != value:
        r.env["BALANCER_ROUTE_CHANGED"] = "1"
        _debug(r, balancer, "AH01162", f"Route changed from {value} to {member.state.route}")
    return SessionRoute(member, value, name)


def _debug(r: Request, balancer: Balancer, code: str, text: str) -> None:
    if not balancer.is_old:
        log(r, "debug", code, text)


def route_member(balancer: Balancer, route: str, now: float, depth: int = 1) -> BalancerMember | None:
    """Return the usable member with *route*, or the one that its redirect names (find_route_worker).

    Hot standbys come last. Redirects are followed as often as there are members.
    """
    for standby in (0, WorkerStatus.HOT_STANDBY):
        for member in balancer.members:
            state = member.state
            if state.status & WorkerStatus.HOT_STANDBY != standby or state.route != route:
                continue
            if _becomes_usable(member, now):
                return member
            redirect = state.redirect
            if redirect and depth < len(balancer.members):
                other = route_member(balancer, redirect, now, depth + 1)
                if other is not None and _becomes_usable(other, now):
                    return other
    return None


def _becomes_usable(member: BalancerMember, now: float) -> bool:
    state = member.state
    if not state.is_usable:
        state.retry_worker(now)
    return state.is_usable
