"""Canonical URLs of back ends: percent-encoding, and the hook that runs the scheme's canonicalization."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from whimbrel.base.lazy_re import compile
from whimbrel.base.numbers import lower, strtol
from whimbrel.base.static_typing import IntEnum
from whimbrel.config.core_config import CoreDirConfig
from whimbrel.config.execute import root_relative
from whimbrel.config.mpm_config import MpmConfig
from whimbrel.engine.request import Request
from whimbrel.modules.proxy.mod_proxy.proxy_pass import interpolated
from whimbrel.modules.proxy.mod_proxy.scheme import SCHEMES
from whimbrel.modules.proxy.mod_proxy.settings import ProxyAlias, ProxyDirConfig
from whimbrel.registry.module import CompiledHook, Reads, Scope
from whimbrel.registry.phases import DECLINED, OK, REVERSE_PROXY, HookStatus

PREFIX: Final = "proxy:"  # of the file name of a proxied request
FROM_HANDLER: Final = "proxy-sethandler"  # note: the URL is that of SetHandler, with the file's name


def is_proxied(r: Request) -> bool:
    """Return True if *r* goes to a back end."""
    return bool(r.proxy) and r.filename is not None and r.filename.startswith(PREFIX)


# Unix sockets -----------------------------------------------------------------------------------
def has_socket(url: str) -> bool:
    """Return True if *url* begins with the path of a Unix socket."""
    return lower(url[:5]) == "unix:" and "|" in url


def take_socket(r: Request, url: str) -> HookStatus:
    """Move ``unix:PATH|`` from `r.filename` to the note ``uds_path`` (ap_proxy_fixup_uds_filename)."""
    socket, _, rest = url.partition("|")
    path = socket[5:]
    if not path or ":" not in rest:
        text = f"Invalid proxy UDS filename ({r.filename})"
        r.log("error", text, code="AH10292", module="proxy")
        return 500
    directory = r.engine.main.config(MpmConfig).run_directory
    root = r.engine.configuration.root
    r.notes["uds_path"] = root_relative(directory or f"{root}/logs", path)
    r.filename = PREFIX + rest
    return OK


# Encoding ---------------------------------------------------------------------------------------
class UrlPart(IntEnum):
    """The part of a URL that is encoded; each has its own characters (httpd's enctype)."""

    PATH = 0
    SEARCH = 1
    USER = 2
    FTP_PATH = 3
    PARAMETER = 4


_UNCHANGED: Final = {
    UrlPart.PATH: "~$-_.+!*'(),;:@&=/",
    UrlPart.SEARCH: "$-_.!*'(),;:@&=+",
    UrlPart.USER: "$-_.+!*'(),;@&=",
    UrlPart.FTP_PATH: "$-_.+!*'(),?:@&=",
    UrlPart.PARAMETER: "$-_.+!*'(),?/:@&=",
}
_RESERVED: Final = {UrlPart.PATH: "/", UrlPart.SEARCH: "+"}
_OTHERS: Final = {
    part: compile(f"[^A-Za-z0-9{re.escape(unchanged)}]") for part, unchanged in _UNCHANGED.items()
}
_ESCAPE: Final = compile(r"%([0-9A-Fa-f]{2})?")


def _encoded(match: re.Match[str]) -> str:
    return f"%{ord(match[0]):02X}"


def keeps_encoded_slashes(r: Request) -> bool:
    """Return True if ``%2F`` in a path stays as it is: AllowEncodedSlashes NoDecode.

    merge_core_dir_configs does not pass it on, so it holds where no section applies.
    """
    core = r.dir_config(CoreDirConfig)
    is_own = core.slashes_of_host == r.server.is_virtual and not r.plan.layers
    return core.encoded_slashes and not core.decode_slashes and is_own


def canonical_encoding(
    text: str, part: UrlPart, *, is_decoding: bool = False, keeps_encoded_slashes: bool = False
) -> str | None:
    """Return *text* with all characters encoded that need it; None for an invalid escape (ap_proxy_canonenc).

    *is_decoding*: escapes are decoded before, but for those of reserved characters (forward proxies, and
    where it is forced). *keeps_encoded_slashes*: ``%2F`` stays, every other ``%`` is encoded
    (AllowEncodedSlashes NoDecode).
    """
    others = _OTHERS[part]
    if not (is_decoding or keeps_encoded_slashes) or "%" not in text:
        return others.sub(_encoded, text)
    reserved = _RESERVED.get(part, "")
    pieces = []
    at = 0
    for match in _ESCAPE.finditer(text):
        if match[1] is None:
            return None
        char = chr(strtol(match[1], 16)[0])
        pieces.append(others.sub(_encoded, text[at : match.start()]))
        if char in reserved:
            pieces.append(match[0])
        elif is_decoding:
            pieces.append(others.sub(_encoded, char))
        else:
            pieces.append("%25" + match[1])
        at = match.end()
    return "".join(pieces) + others.sub(_encoded, text[at:])


# The hook ---------------------------------------------------------------------------------------
class ReverseMaps:
    """ProxyPassReverse, ProxyPassReverseCookiePath and -Domain as they apply to one request."""

    __slots__ = ("aliases", "domains", "paths")

    def __init__(self, r: Request) -> None:
        conf = r.dir_config(ProxyDirConfig)
        self.aliases: list[ProxyAlias] = conf.reverse_aliases
        self.paths: list[ProxyAlias] = conf.cookie_paths
        self.domains: list[ProxyAlias] = conf.cookie_domains
        if conf.interpolate_env and r.proxy == REVERSE_PROXY:
            self.aliases = interpolated(self.aliases, r.env)
            self.paths = interpolated(self.paths, r.env)
            self.domains = interpolated(self.domains, r.env)


def canonicalizer(scope: Scope) -> Callable[[Request], HookStatus]:
    """Return the function that puts the URL of a request in canonical form (ap_proxy_canon_url)."""
    provider = scope.provider

    def canonicalize(r: Request) -> HookStatus:
        url = (r.filename or "")[len(PREFIX) :]
        if r.proxy == REVERSE_PROXY and has_socket(url):
            fixed = take_socket(r, url)
            if fixed != OK:
                return fixed
            url = (r.filename or "")[len(PREFIX) :]
        handler = provider(SCHEMES, lower(url.partition(":")[0]))
        status: HookStatus = DECLINED if handler is None else handler.canonicalize(r, url)
        if status != OK:
            return status
        return OK if url.find(":") > 0 else 400

    return canonicalize


def make_fixup(scope: Scope) -> CompiledHook:
    """Make the hook that puts the URL in canonical form (proxy_fixup)."""
    canonicalize = canonicalizer(scope)

    def fixup(r: Request) -> HookStatus:
        return canonicalize(r) if is_proxied(r) else DECLINED

    return CompiledHook(fixup, Reads.FIELDS)
