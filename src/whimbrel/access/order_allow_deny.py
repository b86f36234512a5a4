"""Order, Allow and Deny as symbolic decisions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from whimbrel.access.atoms import EnvironmentSet, HostIn, address_set
from whimbrel.access.query import AccessQuery
from whimbrel.access.space import Function
from whimbrel.base.net import Network
from whimbrel.modules.aaa.allow_deny import DENY_THEN_ALLOW, AllowDenyDirConfig, Entry


def in_networks(query: AccessQuery, networks: Iterable[Network]) -> Function:
    """Return the condition that the client's address is in one of *networks*."""
    addresses = address_set(networks)
    return query.variable(addresses) if addresses.ranges or addresses.holes else query.space.false


def in_domains(query: AccessQuery, domains: Iterable[str]) -> Function:
    """Return the condition that the client's host name is in one of *domains*."""
    names = frozenset(domain.lower() for domain in domains)
    return query.variable(HostIn(names)) if names else query.space.false


def in_environment(query: AccessQuery, names: Iterable[str]) -> Function:
    """Return the condition that one of the environment variables is set."""
    return query.space.any_of(
        query.variable(EnvironmentSet(name)) for name in sorted({name.lower() for name in names})
    )


def is_refused(query: AccessQuery) -> Function:
    """Return the condition under which Order, Allow and Deny refuse a client."""
    record = query.dir_config(AllowDenyDirConfig)
    allowed = _matches_any(query, record.allows)
    denied = _matches_any(query, record.denies)
    if record.order.get(query.method, DENY_THEN_ALLOW) == DENY_THEN_ALLOW:
        return denied & ~allowed
    return ~allowed | denied


def is_refused_by_compat(query: AccessQuery) -> Function:
    """Return the same condition for mod_access_compat, which skips a record that refuses no client."""
    record = query.dir_config(AllowDenyDirConfig)
    has_no_effect = (
        not record.order and not record.denies and not any(e.kind == "host" for e in record.allows)
    )
    return query.space.false if has_no_effect else is_refused(query)


def _matches_any(query: AccessQuery, entries: list[Entry]) -> Function:
    """Return the condition that one of the entries matches; entries of one kind are one set."""
    kinds: dict[str, list[Any]] = {}
    for entry in entries:
        if query.applies_to(entry.methods):
            kinds.setdefault(entry.kind, []).append(entry.value)
    if "all" in kinds:
        return query.space.true
    unset = query.space.any_of(~in_environment(query, [name]) for name in kinds.get("nenv", ()))
    return (
        in_networks(query, kinds.get("ip", ()))
        | in_domains(query, kinds.get("host", ()))
        | in_environment(query, kinds.get("env", ()))
        | unset
    )
