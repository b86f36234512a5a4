"""The client's host name, looked up in both directions, as access control by name wants it (REMOTE_DOUBLE_REV).

Manual: mod/mod_authz_host.html ("Require host").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.base.net import numeric_address

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

NAME_NOTE = "remote-host"
"""Key of the connection's note that holds the client's name in lower case, "" where it has none: %h shows it from then on."""
CONFIRMED_NOTE = "remote-host-confirmed"


def client_address(r: Request) -> str:
    """The address that access control looks at (useragent_ip)."""
    return r.connection.useragent_ip or r.connection.client_ip


async def confirmed_name(r: Request) -> str | None:
    """The client's name if the name leads back to its address, else None; asked once per connection."""
    notes = r.connection.notes
    r.set_uncacheable()
    name = notes.get(NAME_NOTE)
    if name is None:
        name = notes[NAME_NOTE] = (await r.engine.runtime.reverse_lookup(client_address(r)) or "").lower()
    if not name:
        return None
    known = notes.get(CONFIRMED_NOTE)
    if known is None:
        own = numeric_address(client_address(r))
        known = notes[CONFIRMED_NOTE] = (
            "1" if own in map(numeric_address, await r.engine.runtime.resolve(name)) else ""
        )
    return name if known else None


def in_domain(domain: str, name: str) -> bool:
    """Whether the host *name* (lower case) is *domain* or lies below it; only whole labels count."""
    domain = domain.lower()
    if not name.endswith(domain):
        return False
    return len(name) == len(domain) or domain[:1] == "." or name[-len(domain) - 1] == "."
