"""Which stores a URL has (CacheEnable, CacheDisable), and the key of its entry."""

from __future__ import annotations

from whimbrel.base.numbers import lower
from whimbrel.engine import identity
from whimbrel.engine.request import Request
from whimbrel.http.syntax.target import UriParts, default_port
from whimbrel.modules.cache.mod_cache.request import log
from whimbrel.modules.cache.mod_cache.settings import CacheServerConfig
from whimbrel.registry.phases import FORWARD_PROXY

_LOCAL = UriParts()


def parsed_target(r: Request) -> UriParts:
    """Return the parts of the request target; those of a path are all None but path and query."""
    head = r.head
    return _LOCAL if head is None or head.url is None else head.url


def early_path(r: Request) -> str | None:
    """Return the path as sent."""
    url = parsed_target(r)
    return r.uri if url is _LOCAL else url.path


def matches(rule: UriParts, url: UriParts, path: str | None, *, version22: bool) -> bool:
    """Return True if the URL of a directive applies to a request (uri_meets_conditions)."""
    if not (_is_place_22(rule, url) if version22 else _is_place(rule, url)):
        return False
    own = "/" if rule.path is None else rule.path
    return own == "/" if path is None else path.startswith(own)


def _is_place(rule: UriParts, url: UriParts) -> bool:
    """2.4: a path is about local requests alone; hosts may begin with ``*`` or a dot."""
    if not rule.scheme:
        return not (url.scheme or url.hostname)
    if not url.scheme or lower(rule.scheme) != lower(url.scheme):
        return False
    if rule.hostname:
        host = lower(url.hostname or "")
        wanted = lower(rule.hostname)
        if wanted[0] in ".*":
            if not host.endswith(wanted.removeprefix("*")):
                return False
        elif url.hostname is None or host != wanted:
            return False
    if rule.port_text == "":
        return True
    own = default_port(rule.scheme) if rule.port_text is None else rule.port
    return own == (url.port if url.port_text else default_port(url.scheme))


def _is_place_22(rule: UriParts, url: UriParts) -> bool:
    """2.2: what the rule leaves out matches everything."""
    host = rule.hostname if rule.hostname is not None or not rule.scheme else ""
    if host is not None and (url.hostname is None or lower(host) != lower(url.hostname)):
        return False
    if rule.scheme and (url.scheme is None or lower(rule.scheme) != lower(url.scheme)):
        return False
    if rule.port_text:
        return not (url.port_text and rule.port != url.port) and rule.port == default_port(url.scheme)
    return not (url.port_text and rule.scheme and default_port(rule.scheme) == url.port)


def cache_key(r: Request, conf: CacheServerConfig, path: str, query: str | None, url: UriParts) -> str:
    """Return the key of *path* and *query* (cache_canonicalise_key)."""
    key = f"{_origin(r, conf, url)}{_with_query(r, conf, path, None if conf.ignores_query else query)}"
    if r.plan.is_traced or r.plan.levels:
        log(r, "AH00698", f"cache: Key for entity {path}?{query or '(null)'} is {key}")
    return key


def _origin(r: Request, conf: CacheServerConfig, url: UriParts) -> str:
    """Return scheme, host and port: of the target where the client addressed a proxy."""
    base = conf.base_url
    if r.proxy == FORWARD_PROXY:
        host = lower(url.hostname) if url.hostname else "_default_"
        scheme = lower(url.scheme or "")
        if url.port_text is not None:
            return f"{scheme}://{host}:{lower(url.port_text)}"
        port = default_port(scheme)
        return f"{scheme}://{host}:{port}" if port else f"{scheme}://{host}"
    scheme = base.scheme if base is not None and base.scheme else identity.scheme(r)
    if base is not None and base.hostname:
        return f"{scheme}://{base.hostname}" + (f":{base.port_text}" if base.port_text else "")
    port_text = base.port_text if base is not None and base.port_text else str(identity.server_port(r))
    return f"{scheme}://{identity.server_name(r) or '_default_'}:{port_text}"


def _with_query(r: Request, conf: CacheServerConfig, path: str, query: str | None) -> str:
    """Return path and query without session identifiers."""
    for identifier in conf.session_ids:
        before, semicolon, parameter = path.rpartition(";")
        if (
            semicolon
            and parameter.startswith(f"{identifier}=")
            and "/" not in parameter[len(identifier) + 1 :]
        ):
            path = before
        elif query:
            query = _without(query, identifier, partial=r.plan.dialect.cache_partial_session_ids)
    return f"{path}?{query or ''}"


def _without(query: str, identifier: str, *, partial: bool) -> str:
    """Return *query* without one parameter; *partial*: the end of its name is enough, and a separator before
    the last parameter stays, as in 2.2.
    """
    if partial:
        at = query.find(identifier)
        if at < 0 or query[at + len(identifier) : at + len(identifier) + 1] != "=":
            return query
    elif query.startswith(f"{identifier}="):
        at = 0
    else:
        at = query.find(f"&{identifier}=") + 1
        if not at:
            return query
    before = query[:at]
    after = query[at + len(identifier) + 1 :]
    _, ampersand, rest = after.partition("&")
    if ampersand:
        return before + rest
    if partial:
        return before
    return before[:-1]
