"""URLs and cookies of back ends as clients see them: ProxyPassReverse and ProxyPassReverseCookie*."""

from __future__ import annotations

from whimbrel.base.numbers import BLANKS, lower
from whimbrel.engine.request import Request
from whimbrel.modules.proxy.mod_proxy.canonical_url import ReverseMaps
from whimbrel.modules.proxy.mod_proxy.model import (
    BALANCER_PREFIX,
    ProxyBalancer,
    find_balancer,
    is_balancer_url,
)
from whimbrel.modules.proxy.mod_proxy.settings import ProxyAlias, ProxyServerConfig
from whimbrel.modules.support.substitution import is_url
from whimbrel.registry.phases import REVERSE_PROXY


def location_reverse_map(r: Request, maps: ReverseMaps, url: str) -> str:
    """Return *url*, of Location or the like, as the client can use it (ap_proxy_location_reverse_map)."""
    if r.proxy != REVERSE_PROXY:
        return url
    balancers = r.server_conf(ProxyServerConfig).balancers
    mapped = reverse_url(maps.aliases, balancers, url)
    if mapped is None:
        return url
    if is_url(mapped):
        return mapped
    return r.engine.construct_url(r, mapped)


def reverse_url(aliases: list[ProxyAlias], balancers: list[ProxyBalancer], url: str) -> str | None:
    """Return the front end's form of the back end's *url* by the first line that fits, or None."""
    for alias in aliases:
        real = alias.real
        balancer = find_balancer(balancers, real) if is_balancer_url(real) else None
        if balancer is not None:
            mapped = _by_member(alias, balancer, url)
            if mapped is not None:
                return mapped
            continue
        part = url
        if real.startswith("/"):
            host = url.find("://")
            slash = url.find("/", host + 3) if host >= 0 else -1
            part = url[slash:] if slash >= 0 else url
        if real and len(part) >= len(real) and lower(part[: len(real)]) == lower(real):
            return alias.fake + part[len(real) :]
    return None


def _by_member(alias: ProxyAlias, balancer: ProxyBalancer, url: str) -> str | None:
    """Return the mapping of *url* if it belongs to a member of *balancer*."""
    slash = alias.real.find("/", len(BALANCER_PREFIX))
    path = alias.real[slash:] if slash >= 0 and len(alias.real) > slash + 1 else ""
    for member in balancer.members:
        name = member.name
        if path and name.endswith("/"):
            name = name[:-1]
        if lower(url[: len(name)]) != lower(name) or not url.startswith(path, len(name)):
            continue
        rest = url[len(name) + len(path) :]
        if not path and alias.fake == "/" and rest.startswith("/"):
            return rest
        return alias.fake + rest
    return None


def cookie_reverse_map(r: Request, maps: ReverseMaps, field: str) -> str:
    """Return the Set-Cookie *field* with the client's path and domain (ap_proxy_cookie_reverse_map)."""
    if r.proxy != REVERSE_PROXY:
        return field
    return reverse_cookie(maps.paths, maps.domains, field, is_first=r.plan.dialect.proxy_22)


def reverse_cookie(
    paths: list[ProxyAlias], domains: list[ProxyAlias], field: str, *, is_first: bool = False
) -> str:
    """Return *field* with its path replaced by the first of *paths* that begins it, its domain likewise.

    Of several paths or domains the last one counts; if *is_first*, the first text ``path=`` anywhere (2.2).
    """
    for name, aliases in (("path", paths), ("domain", domains)):
        start = _first_value(field, name) if is_first else _last_value(field, name)
        if start is None:
            continue
        end = field.find(";", start)
        value = field[start:] if end < 0 else field[start:end]
        for alias in aliases:
            begin = value[: len(alias.fake)]
            if begin == alias.fake or (name == "domain" and lower(begin) == lower(alias.fake)):
                field = field[:start] + alias.real + field[start + len(value) :]
                break
    return field


def _first_value(field: str, name: str) -> int | None:
    at = lower(field).find(f"{name}=")
    return None if at < 0 else at + len(name) + 1


def _last_value(field: str, name: str) -> int | None:
    """Return where the value of the last attribute *name* begins, None without one."""
    found = None
    at = 0
    for piece in field.split(";"):
        label, equals, _ = piece.partition("=")
        if equals and lower(label.lstrip(BLANKS)) == name:
            found = at + len(label) + 1
        at += len(piece) + 1
    return found
