"""Canonical URLs of uwsgi back ends (uwsgi_canon)."""

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
from whimbrel.modules.proxy.mod_proxy.url_authority import UNSENDABLE, BadAuthority, site_of, split_authority
from whimbrel.registry.phases import DECLINED, OK, HookStatus

SCHEME: Final = "uwsgi://"
PORT: Final = 3031
_MODULE: Final = "proxy_uwsgi"


def canonicalize(r: Request, url: str) -> HookStatus:
    """Set `r.filename` to ``proxy:`` and the canonical form of *url*; DECLINED for other schemes."""
    if lower(url[: len(SCHEME)]) != SCHEME:
        return DECLINED
    rest = url[6:]
    try:
        host, port, path = split_authority(rest)
    except BadAuthority as problem:
        r.log("error", f"error parsing URL {problem.rest}: {problem}", code="AH10097", module=_MODULE)
        return 400
    if "proxy-nocanon" in r.notes or "proxy-noencode" in r.notes:
        sent: str | None = path
        if UNSENDABLE(path):
            text = "To be forwarded path contains control characters or spaces"
            r.log("error", text, code="AH10417", module=_MODULE)
            return 403
    else:
        keeps = keeps_encoded_slashes(r)
        sent = canonical_encoding(path, UrlPart.PATH, keeps_encoded_slashes=keeps)
    if sent is None:
        return 400
    r.filename = f"{PREFIX}{SCHEME}{site_of(host, port, PORT)}/{sent}"
    return OK
