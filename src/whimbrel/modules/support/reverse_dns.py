"""The client's host name by forward-confirmed reverse DNS (REMOTE_DOUBLE_REV), as access control by name
needs.

Manual: mod/mod_authz_host.html ("Require host").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.base.net import numeric_address

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

NAME_NOTE = "remote-host"
"""Key of the connection note with the client's name in lower case, "" if it has none; later %h items log it.
"""
CONFIRMED_NOTE = "remote-host-confirmed"


def client_address(r: Request) -> str:
    """Return the address of the client as scripts see it (useragent_ip)."""
    return r.connection.useragent_ip or r.connection.client_ip


def compared_address(r: Request) -> str:
    """Return the address that access control compares."""
    return r.connection.peer_addr or client_address(r)


async def confirmed_name(r: Request) -> str | None:
    """Return the client's name if it resolves to its address, else None; once per connection."""
    notes = r.connection.notes
    r.set_uncacheable()
    name = notes.get(NAME_NOTE)
    if name is None:
        name = (await r.engine.runtime.reverse_lookup(compared_address(r)) or "").lower()
        notes[NAME_NOTE] = name
    if not name:
        return None
    known = notes.get(CONFIRMED_NOTE)
    if known is None:
        client = numeric_address(compared_address(r))
        known = "1" if client in map(numeric_address, await r.engine.runtime.resolve(name)) else ""
        notes[CONFIRMED_NOTE] = known
    return name if known else None


def in_domain(domain: str, name: str) -> bool:
    """Return True if the host *name* (lower case) is *domain* or a subdomain of it."""
    domain = domain.lower()
    if not name.endswith(domain):
        return False
    return len(name) == len(domain) or domain[:1] == "." or name[-len(domain) - 1] == "."
