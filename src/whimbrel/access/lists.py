"""Order, Allow and Deny, symbolically."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from whimbrel.access.asking import Asking
from whimbrel.access.atoms import EnvironmentSet, HostIn, address_set
from whimbrel.access.decision import Function
from whimbrel.modules.allow_deny import DENY_THEN_ALLOW, AllowDenySettings, Entry
from whimbrel.modules.networks import Network


def in_networks(ask: Asking, networks: Iterable[Network]) -> Function:
    """Whether the client's address is in one of *networks*."""
    found = address_set(networks)
    return ask.holds(found) if found.ranges or found.holes else ask.space.false


def in_domains(ask: Asking, domains: Iterable[str]) -> Function:
    """Whether the client's name lies in one of *domains*."""
    found = frozenset(domain.lower() for domain in domains)
    return ask.holds(HostIn(found)) if found else ask.space.false


def in_environment(ask: Asking, names: Iterable[str]) -> Function:
    """Whether one of the variables is set."""
    return ask.space.any_of(ask.holds(EnvironmentSet(name)) for name in sorted({name.lower() for name in names}))


def refused(ask: Asking) -> Function:
    """When the lists keep a client out."""
    record = ask.folder(AllowDenySettings)
    allowed, denied = _listed(ask, record.allows), _listed(ask, record.denies)
    if record.order.get(ask.method, DENY_THEN_ALLOW) == DENY_THEN_ALLOW:
        return denied & ~allowed
    return ~allowed | denied


def compat_refused(ask: Asking) -> Function:
    """The same as mod_access_compat runs it: a record that could refuse nobody is left alone."""
    record = ask.folder(AllowDenySettings)
    idle = not record.order and not record.denies and not any(e.kind == "host" for e in record.allows)
    return ask.space.false if idle else refused(ask)


def _listed(ask: Asking, entries: list[Entry]) -> Function:
    """Whether one of the entries matches; those of a kind are one set."""
    kinds: dict[str, list[Any]] = {}
    for entry in entries:
        if ask.concerns(entry.methods):
            kinds.setdefault(entry.kind, []).append(entry.value)
    if "all" in kinds:
        return ask.space.true
    unset = ask.space.any_of(~in_environment(ask, [name]) for name in kinds.get("nenv", ()))
    return in_networks(ask, kinds.get("ip", ())) | in_domains(ask, kinds.get("host", ())) | in_environment(ask, kinds.get("env", ())) | unset
