"""Hooks before the file system: forward requests, ProxyPass, the sections of proxied URLs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from whimbrel.base.fnmatch import compile_fnmatch
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.base.numbers import lower
from whimbrel.config.model import Server
from whimbrel.config.vhosts import matcher
from whimbrel.engine.identity import scheme as own_scheme
from whimbrel.engine.log.error_log_line import enabled, module_log
from whimbrel.engine.request import Request
from whimbrel.engine.walk.matching import regex_matches
from whimbrel.http.syntax.target import UriParts, default_port
from whimbrel.modules.proxy.mod_proxy.canonical_url import PREFIX, is_proxied
from whimbrel.modules.proxy.mod_proxy.proxy_pass import MappedPath, interpolate, map_path
from whimbrel.modules.proxy.mod_proxy.scheme import SCHEMES
from whimbrel.modules.proxy.mod_proxy.settings import (
    ProxyAlias,
    ProxyDirConfig,
    ProxySection,
    ProxyServerConfig,
)
from whimbrel.registry.methods import NAMES
from whimbrel.registry.module import CompiledHook, PathRules, Reads, Scope
from whimbrel.registry.phases import DECLINED, DONE, FORWARD_PROXY, OK, REVERSE_PROXY, HookStatus

SERVER: str = "proxy-server"
_CONNECT = NAMES.index("CONNECT")
_MODULE = "proxy"
_log = module_log(_MODULE)


# Forward requests -------------------------------------------------------------------------------
def make_detect(scope: Scope) -> CompiledHook:
    """Make the hook that recognizes forward requests (proxy_detect).

    It also refuses the schemes that no server has, which the engine leaves to it.
    """
    is_forward = scope.server_config(ProxyServerConfig).requests
    is_strict = scope.dialect.strict_host

    def detect(r: Request) -> HookStatus:
        head = r.head
        url = None if head is None or r.prev is not None else head.url
        if url is None and (r.method_number != _CONNECT or head is None):
            return DECLINED
        if is_forward and (_is_connect(r) if url is None or not url.scheme else _is_foreign(r, url)):
            r.proxy = FORWARD_PROXY
            r.handler = SERVER
            r.uri = r.unparsed_uri
            r.filename = PREFIX + r.uri
        elif is_strict and url is not None and r.method_number != _CONNECT:
            return DECLINED if lower(url.scheme or "http") in ("http", "https") else 400
        return DECLINED

    return CompiledHook(detect, Reads.FIELDS)


def _is_connect(r: Request) -> bool:
    return r.method_number == _CONNECT and r.hostname is not None and r.port is not None


def _is_foreign(r: Request, url: UriParts) -> bool:
    """Return True if the absolute target is not this server."""
    if url.hostname is None or lower(url.scheme or "") != own_scheme(r):
        return True
    port = url.port if url.port_text else default_port(own_scheme(r))
    return not is_server(r.server, lower(url.hostname), port)


def is_server(server: Server, host: str, port: int) -> bool:
    """Return True if *server* has the address or name *host* at *port* (ap_matches_request_vhost)."""
    for address in server.addresses:
        if address.port in (0, port) and lower(address.written or address.host) == host:
            return True
    if not host and not server.is_virtual:
        return True  # the main server's own address has no name
    if port != server.port:
        return False
    names = (server.name, *server.names)
    return host in map(lower, names) or any(matcher(name)(host) for name in server.wild_names)


# ProxyPass --------------------------------------------------------------------------------------
def make_translate(scope: Scope) -> CompiledHook | None:
    """Make the hook of translate_name: the mappings of decoded paths."""
    return _make_mapping(scope, is_encoded=False)


def make_pre_translate(scope: Scope) -> CompiledHook | None:
    """Make the hook before decoding: ``mapping=encoded`` and ``mapping=servlet``."""
    return (
        _make_mapping(scope, is_encoded=True) if scope.server_config(ProxyServerConfig).maps_encoded else None
    )


def _make_mapping(scope: Scope, *, is_encoded: bool) -> CompiledHook | None:
    conf = scope.server_config(ProxyServerConfig)
    dir_conf = scope.dir_config(ProxyDirConfig)
    lines = [] if dir_conf.alias is None else [dir_conf.alias]
    lines = [alias for alias in (*lines, *conf.aliases) if alias.encoded is is_encoded]
    is_mapped_before = conf.maps_encoded and not is_encoded  # by the hook before decoding
    if not lines and not conf.requests and not is_mapped_before:
        return None
    mapper = PathMapper(scope, lines, done=DONE if is_encoded else OK)
    if dir_conf.alias is not None or any(line.interpolate for line in lines):
        return CompiledHook(mapper.translate)
    rules = PathRules(
        tuple([line.fake for line in lines if line.regex is None]),
        tuple([partial(_is_match, line) for line in lines if line.regex is not None]),
    )
    return CompiledHook(mapper.translate, Reads.FIELDS, path_rules=rules)


def _is_match(line: ProxyAlias, path: str) -> bool:
    return line.regex is not None and line.regex.search(path) is not None


class PathMapper:
    """The ProxyPass lines of one merged configuration, the section's own first."""

    __slots__ = ("_done", "_env", "_lines", "_old", "_provider")

    def __init__(self, scope: Scope, lines: list[ProxyAlias], *, done: HookStatus) -> None:
        self._lines = lines
        self._done = done
        self._env = scope.dir_config(ProxyDirConfig).interpolate_env
        self._old = scope.dialect.proxy_22
        self._provider: Callable[[str, str], Any] = scope.provider

    def translate(self, r: Request) -> HookStatus:
        """Map the path of *r* by the first line that matches; DECLINED if none does or it is a ``!``."""
        if r.proxy:
            return self._done
        path = r.uri
        if not self._lines or (not self._old and (path[:1] != "/" or "no-proxy" in r.env)):
            return DECLINED
        trace = enabled(r.plan.levels, _MODULE, "trace1")
        for line in self._lines:
            if line.interpolate and self._env:
                line = replace(line, fake=interpolate(line.fake, r.env), real=interpolate(line.real, r.env))
            if trace:
                kind = "pattern" if line.regex is not None else "prefix"
                text = f"attempting to match URI path '{path}' against {kind} '{line.fake}' for proxying"
                r.log("trace2", text, code="AH03461", module=_MODULE)
            target = r.unparsed_uri if line.nocanon else ""
            mapped = map_path(line, path, target, ampersand=self._old)
            if mapped is None:
                continue
            if mapped.url is None:
                text = f"proxying is explicitly disabled for URI path '{path}'; declining"
                r.log("trace1", text, code="AH03463" if line.regex is None else "AH03462", module=_MODULE)
                return DECLINED
            if self._is_accepted(r, mapped.url):
                return self._map(r, line, mapped, PREFIX + mapped.url)
        return DECLINED

    def _is_accepted(self, r: Request, url: str) -> bool:
        """Return True unless the scheme of *url* is not interested in the request (check_trans)."""
        handler = self._provider(SCHEMES, lower(url.partition(":")[0]))
        check = getattr(handler, "check_translation", None)
        return check is None or check(r, url) in (OK, DECLINED)

    def _map(self, r: Request, line: ProxyAlias, mapped: MappedPath, found: str) -> HookStatus:
        if mapped.is_mismatched:
            text = "Unescaped URL path matched ProxyPass; ignoring unsafe nocanon"
            _log(r, "warn", "AH01136", text)
        r.filename = found
        r.handler = SERVER
        r.proxy = REVERSE_PROXY
        if not mapped.is_canonical:
            r.notes["proxy-nocanon"] = "1"
        if line.noquery:
            r.notes["proxy-noquery"] = "1"
        if line.encoded:
            r.notes["proxy-noencode"] = "1"
        if mapped.path is not None:
            text = f"Servlet path '{r.uri}' ({mapped.path}) matches proxy handler '{found}'"
            r.log("trace1", text, code="AH10248", module=_MODULE)
            r.uri = mapped.path
        else:
            _log(r, "trace1", "AH03464", f"URI path '{r.uri}' matches proxy handler '{found}'")
        return self._done


# Sections ---------------------------------------------------------------------------------------
def make_map_to_storage(scope: Scope) -> CompiledHook:
    """Make the hook in place of the directory walk: <Proxy> sections (proxy_walk); no file is looked up."""
    sections = scope.server_config(ProxyServerConfig).sections
    tests = [(section, _test(section)) for section in sections]

    def map_to_storage(r: Request) -> HookStatus:
        if not is_proxied(r):
            return DECLINED
        url = (r.filename or "")[len(PREFIX) :]
        for section, test in tests:
            if regex_matches(r, section.regex, url) if section.regex is not None else test(url):
                r.plan = r.plan.with_layer(section.layer)
        return OK

    return CompiledHook(map_to_storage, Reads.FIELDS)


def _test(section: ProxySection) -> Callable[[str], bool]:
    """Return the test of a section without regular expression."""
    if section.is_fnmatch:
        pattern = compile_fnmatch(section.pattern)
        return lambda url: pattern.search(url) is not None
    return lambda url: url.startswith(section.pattern)
