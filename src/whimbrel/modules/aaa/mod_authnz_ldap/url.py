"""AuthLDAPURL: ``ldap://HOSTS[:PORT]/BASE[?ATTRIBUTES[?SCOPE[?FILTER]]]`` (RFC 4516 with several hosts)."""

from __future__ import annotations

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import atoi, lower, split
from whimbrel.http.syntax.url import unescape_loose

SUBTREE = "subtree"
ONE_LEVEL = "onelevel"
DEFAULT_FILTER = "objectclass=*"
_PORTS = {"ldap": 389, "ldapi": 389, "ldaps": 636}


@dataclass(frozen=True, slots=True)
class LdapUrl:
    """A parsed AuthLDAPURL.

    Attributes:
        text: as written
        uris: of the servers, for the library
        base: DN where searches begin
        attributes: names, () without any; attribute: the one that is compared with the user
        scope: SUBTREE or ONE_LEVEL (a base scope means SUBTREE)
        filter: without its outer parentheses
        secure: "ssl" for ldaps, None where nothing says it
    """

    text: str
    uris: str
    base: str
    attributes: tuple[str, ...]
    scope: str
    filter: str
    secure: str | None

    @property
    def attribute(self) -> str:
        """Return the attribute that has the user's name."""
        return self.attributes[0] if self.attributes else "uid"


def parse(text: str) -> LdapUrl:
    """Parse a URL that the catalogue's rules have accepted."""
    scheme, _, rest = text.partition("://")
    scheme = lower(scheme)
    hosts, _, path = rest.partition("/")
    # behind a fourth question mark are extensions (RFC 4516, 2), which httpd does not use
    parts = [unescape_loose(part) for part in path.split("?")] + [""] * 4
    base, attributes, scope, wanted = parts[:4]
    if wanted[:1] == "(":
        wanted = wanted[1:-1]
    return LdapUrl(
        text,
        " ".join(_uri(scheme, host) for host in split(unescape_loose(hosts)) or ["localhost"]),
        base,
        tuple(name for name in attributes.split(",") if name),
        ONE_LEVEL if lower(scope) in ("one", "onelevel") else SUBTREE,
        wanted or DEFAULT_FILTER,
        "ssl" if scheme == "ldaps" else None,
    )


def _uri(scheme: str, host: str) -> str:
    """Return the URI of one host; ``ldapi`` is spoken over TCP, as httpd does."""
    name, colon, port = host.rpartition(":")
    if not colon or "]" in port:
        name = host
        port = ""
    number = atoi(port) or _PORTS[scheme]
    return f"{'ldap' if scheme == 'ldapi' else scheme}://{name}:{number}"
