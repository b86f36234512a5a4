"""Canonical URLs of AJP back ends (proxy_ajp_canon)."""

from __future__ import annotations

from typing import Final

from whimbrel.base.numbers import lower
from whimbrel.engine.request import Request
from whimbrel.modules.proxy.mod_proxy.canonical_url import (
    PREFIX,
    UrlPart,
    canonical_encoding,
    keeps_encoded_slashes,
)
from whimbrel.modules.proxy.mod_proxy.model import PROXY_PORTS
from whimbrel.modules.proxy.mod_proxy.url_authority import UNSENDABLE, BadAuthority, site_of, split_authority
from whimbrel.registry.phases import DECLINED, OK, HookStatus

_MODULE: Final = "proxy_ajp"


def canonicalize(r: Request, url: str) -> HookStatus:
    """Set `r.filename` to ``proxy:`` and the canonical form of *url*; DECLINED for other schemes."""
    if lower(url[:4]) != "ajp:":
        return DECLINED
    rest = url[4:]
    old = r.plan.dialect.proxy_22
    r.log("trace1", f"canonicalising URL {rest}", module=_MODULE)
    try:
        host, port, path = split_authority(rest)
    except BadAuthority as problem:
        r.log("error", f"error parsing URL {problem.rest}: {problem}", code="AH00867", module=_MODULE)
        return 400
    query: str | None = None
    if "proxy-nocanon" in r.notes:
        sent: str | None = path
    elif not old and "proxy-noencode" in r.notes:
        sent = path
        query = r.args
    else:
        keeps = not old and keeps_encoded_slashes(r)
        sent = canonical_encoding(path, UrlPart.PATH, keeps_encoded_slashes=keeps)
        query = r.args
    if sent is None:
        return 400
    if not old:
        words = "contains control characters or spaces"
        if sent is path and UNSENDABLE(path):
            r.log("error", f"To be forwarded path {words}", code="AH10418", module=_MODULE)
            return 403
        if query and UNSENDABLE(query):
            r.log("error", f"To be forwarded query string {words}", code="AH10406", module=_MODULE)
            return 403
    site = site_of(host, port, PROXY_PORTS["ajp"])
    r.filename = f"{PREFIX}ajp://{site}/{sent}{'' if query is None else f'?{query}'}"
    return OK
