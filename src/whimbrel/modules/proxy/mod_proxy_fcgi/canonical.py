"""Canonical URLs of FastCGI back ends (proxy_fcgi_canon)."""

from __future__ import annotations

import re
from typing import Final

from whimbrel.base.numbers import lower
from whimbrel.engine.request import Request
from whimbrel.http.syntax.url import Slashes, unescape
from whimbrel.modules.proxy.mod_proxy.canonical_url import (
    FROM_HANDLER,
    PREFIX,
    UrlPart,
    canonical_encoding,
    keeps_encoded_slashes,
)
from whimbrel.modules.proxy.mod_proxy.model import PROXY_PORTS
from whimbrel.modules.proxy.mod_proxy.url_authority import BadAuthority, site_of, split_authority
from whimbrel.modules.proxy.mod_proxy_fcgi.settings import FcgiDirConfig
from whimbrel.registry.phases import DECLINED, OK, HookStatus

_PATH_INFO: Final = "proxy-fcgi-pathinfo"
_MODULE: Final = "proxy_fcgi"
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]").search
_CONTROL_OR_QUERY: Final = re.compile(r"[\x00-\x1f\x7f?]").search
_RAW: Final = ("proxy-nocanon", "proxy-noencode")


def canonicalize(r: Request, url: str) -> HookStatus:
    """Set `r.filename` to ``proxy:`` and the canonical form of *url*; DECLINED for other schemes."""
    if lower(url[:5]) != "fcgi:":
        return DECLINED
    rest = url[5:]
    r.log("trace1", f"canonicalising URL {rest}", module=_MODULE)
    try:
        host, port, path = split_authority(rest)
    except BadAuthority as problem:
        r.log("error", f"error parsing URL {problem.rest}: {problem}", code="AH01059", module=_MODULE)
        return 400
    sent = _path(r, path)
    if not isinstance(sent, str):
        return sent
    r.filename = f"{PREFIX}fcgi://{site_of(host, port, PROXY_PORTS['fcgi'])}/{sent}"
    r.log("debug", f"set r->filename to {r.filename}", code="AH01060", module=_MODULE)
    kind = r.env.get(_PATH_INFO)
    if kind is not None:
        _set_path_info(r, sent, lower(kind))
    return OK


def _path(r: Request, path: str) -> str | HookStatus:
    """Return *path* as it is sent, or the status of a refusal."""
    notes = r.notes
    if FROM_HANDLER in notes or any(name in notes for name in _RAW):
        is_generic = r.dir_config(FcgiDirConfig).is_generic
        if (_CONTROL if is_generic else _CONTROL_OR_QUERY)(path):
            what = "" if is_generic else " or '?'"
            text = f"To be forwarded path contains control characters{what} ({path})"
            r.log("error", text, code="AH10414", module=_MODULE)
            return 403
        return path
    keeps = keeps_encoded_slashes(r)
    sent = canonical_encoding(path, UrlPart.PATH, keeps_encoded_slashes=keeps)
    return 400 if sent is None else sent


def _set_path_info(r: Request, path: str, kind: str) -> None:
    """Set PATH_INFO as the variable proxy-fcgi-pathinfo says."""
    if kind == "full":
        return  # httpd repeats the directory walk, which leaves the name of a proxied request as it is
    if kind in ("first-dot", "last-dot"):
        dot = path.find(".") if kind == "first-dot" else path.rfind(".")
        slash = path.find("/", dot) if dot >= 0 else -1
        if slash >= 0:
            r.path_info = unescape(path[slash:], Slashes.NO_DECODE)[0]
        return
    r.path_info = "/" + path
    if kind == "unescape":
        r.path_info = unescape(r.path_info, Slashes.NO_DECODE)[0]
    r.log("debug", f"set r->path_info to {r.path_info}", code="AH01061", module=_MODULE)
