"""The host part of the URLs of back ends (ap_proxy_canon_netloc)."""

from __future__ import annotations

import re
from typing import Final

from whimbrel.base.numbers import lower
from whimbrel.config.addresses import BadAddress, parse_host_port

_ESCAPES: Final = re.compile(r"[^%]*+(?:%[0-9A-Fa-f]{2}[^%]*+)*").fullmatch
UNSENDABLE: Final = re.compile(r"[\x00-\x20\x7f]").search  # characters that no URL sent to a back end has


class BadAuthority(ValueError):
    """The host part of a URL that httpd refuses; the text is its reason.

    *rest* is what a log line shows of the URL without its scheme: httpd cuts its text where it splits it.
    """

    def __init__(self, reason: str, rest: str) -> None:
        super().__init__(reason)
        self.rest = rest


def split_authority(rest: str) -> tuple[str, int, str]:
    """Split ``//user:password@host:port/path`` into host in lower case, port (or 0) and path."""
    if rest[:2] != "//":
        raise BadAuthority("Malformed URL", rest)
    authority, _, path = rest[2:].partition("/")
    user, at, site = authority.rpartition("@")
    shown = f"//{authority}"
    if at:
        name, _, password = user.partition(":")
        shown = f"//{name}"
        if _ESCAPES(password) is None:
            raise BadAuthority("Bad %-escape in URL (password)", shown)
        if _ESCAPES(name) is None:
            raise BadAuthority("Bad %-escape in URL (username)", shown)
    try:
        parts = parse_host_port(site)
    except BadAddress:
        raise BadAuthority("Invalid host/port", shown) from None
    if not parts.host or parts.scope:
        raise BadAuthority("Invalid host/port", shown)
    return lower(parts.host), parts.port, path


def site_of(host: str, port: int, default: int) -> str:
    """Return host and port as in a URL, without *default*."""
    site = f"[{host}]" if ":" in host else host
    return f"{site}:{port}" if port and port != default else site
