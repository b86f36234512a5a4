"""Canonical URLs of HTTP back ends (proxy_http_canon, ap_proxy_canon_netloc)."""

from __future__ import annotations

from typing import Final, NamedTuple

from whimbrel.base.numbers import lower
from whimbrel.engine.request import Request
from whimbrel.modules.proxy.mod_proxy.canonical_url import (
    PREFIX,
    UrlPart,
    canonical_encoding,
    keeps_encoded_slashes,
)
from whimbrel.modules.proxy.mod_proxy.model import port_of_scheme
from whimbrel.modules.proxy.mod_proxy.url_authority import UNSENDABLE, BadAuthority, split_authority
from whimbrel.registry.phases import DECLINED, FORWARD_PROXY, OK, HookStatus

_MODULE: Final = "proxy_http"
_SCHEMES_24: Final = frozenset(("http", "https", "ws", "wss"))
_SCHEMES_22: Final = frozenset(("http", "https"))


class CanonicalCodes(NamedTuple):
    """The module that logs refused URLs, and the numbers of its lines: of a host part, a path, a query.

    *has_scheme*: the first of them shows the scheme, too (2.4).
    """

    module: str
    host: str
    path: str
    query: str
    has_scheme: bool = False


_CODES: Final = CanonicalCodes(_MODULE, "AH01083", "AH10415", "AH10408", has_scheme=True)


def canonicalize(r: Request, url: str) -> HookStatus:
    """Set `r.filename` to ``proxy:`` and the canonical form of *url*; DECLINED for other schemes."""
    scheme, colon, _ = url.partition(":")
    if not colon or lower(scheme) not in (_SCHEMES_24 if r.plan.dialect.messages_24 else _SCHEMES_22):
        return DECLINED
    return canonical_url(r, url, _CODES)


def canonical_url(r: Request, url: str, codes: CanonicalCodes) -> HookStatus:
    """Set `r.filename` to ``proxy:`` and the canonical form of *url*, which has the form of http URLs."""
    new = r.plan.dialect.messages_24
    scheme, _, rest = url.partition(":")
    scheme = lower(scheme)
    try:
        host, port, path = split_authority(rest)
    except BadAuthority as problem:
        prefix = url[: -len(rest) or None] if new and codes.has_scheme else ""
        text = f"error parsing URL {prefix}{problem.rest}: {problem}"
        r.log("error", text, code=codes.host, module=codes.module)
        return 400
    sent, query = _path_and_query(r, path, new)
    if sent is None:
        return 400
    if new:
        if sent is path and UNSENDABLE(sent):
            text = "To be forwarded path contains control characters or spaces"
            r.log("error", text, code=codes.path, module=codes.module)
            return 403
        if query and UNSENDABLE(query):
            text = "To be forwarded query string contains control characters or spaces"
            r.log("error", text, code=codes.query, module=codes.module)
            return 403
    site = f"[{host}]" if ":" in host else host
    if port and port != port_of_scheme(scheme):
        site = f"{site}:{port}"
    r.filename = f"{PREFIX}{scheme}://{site}/{sent}{'' if query is None else f'?{query}'}"
    return OK


def _path_and_query(r: Request, path: str, new: bool) -> tuple[str | None, str | None]:
    """Return path and query as they are sent; None for a path with an invalid escape."""
    if r.proxy == FORWARD_PROXY or "proxy-nocanon" in r.notes:
        return path, None
    if new and "proxy-noencode" in r.notes:
        return path, r.args
    keeps = new and keeps_encoded_slashes(r)
    return canonical_encoding(path, UrlPart.PATH, keeps_encoded_slashes=keeps), r.args
