"""The handler ``ldap-status``: counters of the caches, in httpd's table.

httpd has caches for each AuthLDAPURL, and pages of their entries; here is one of each kind, and the page
shows no names of users.
"""

from __future__ import annotations

from typing import Final

from whimbrel.base.latin1 import to_bytes
from whimbrel.engine.request import Request
from whimbrel.modules.ldap.mod_ldap.cache import OperationCache, caches_of
from whimbrel.registry.module import CompiledHook, Reads, Scope
from whimbrel.registry.phases import DECLINED, OK, HookStatus

NAME: Final = "ldap-status"
_FONT = "<font size='-1' face='Arial,Helvetica' color='#ffffff'><b>{}</b></font>"
_HEAD = """<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN" "http://www.w3.org/TR/html4/strict.dtd">
<html><head><title>LDAP Cache Information</title></head>
<body bgcolor='#ffffff'><h1 align=center>LDAP Cache Information</h1>
"""
_COLUMNS = (
    ("Cache Name", ""),
    ("Entries", ""),
    ("Avg. Chain Len.", ""),
    ("Hits", " colspan='2'"),
    ("Ins/Rem", ""),
    ("Purges", " colspan='2'"),
    ("Avg Purge Time", ""),
)
_NO_PURGE = "<td colspan='2' align='center'>(none)</td>\n"


def make_handler(_scope: Scope) -> CompiledHook:
    """Make the handler."""

    def handle(r: Request) -> HookStatus:
        if r.handler != NAME:
            return DECLINED
        r.allowed |= 1
        if r.method_number != 0:
            return DECLINED
        r.set_uncacheable()
        r.content_type = "text/html; charset=ISO-8859-1"
        if r.header_only:
            return OK
        caches = caches_of(r.engine)
        r.write(
            to_bytes(
                page(
                    (
                        ("Searches", caches.searches),
                        ("Compares", caches.comparisons),
                        ("DNCompares", caches.names),
                    )
                )
            )
        )
        return OK

    return CompiledHook(handle, Reads.HEAD | Reads.UNCACHEABLE, handlers=frozenset((NAME,)))


def page(caches: tuple[tuple[str, OperationCache], ...]) -> str:
    """Return the page with a row for each cache."""
    titles = "".join(f"<td{span}>{_FONT.format(name)}</td>" for name, span in _COLUMNS)
    rows = "".join(_row(name, cache) for name, cache in caches)
    return f"{_HEAD}<p>\n<table border='0'>\n<tr bgcolor='#000000'>\n{titles}</tr>\n{rows}</table>\n</p>\n"


def _row(name: str, shared: OperationCache) -> str:
    cache = shared.counters()
    full = 100 * cache.length / cache.entries if cache.entries else 0
    hits = 100 * cache.hits / cache.fetches if cache.fetches else 100
    purges = f"<td align='right'>{cache.purges}</td>\n<td align='right' nowrap></td>\n"
    cells = (
        f"<td align='right' nowrap>{cache.length} ({full:.0f}% full)</td>"
        f"<td align='right'>{1 if cache.length else 0:.1f}</td>"
        f"<td align='right'>{cache.hits}/{cache.fetches}</td><td align='right'>{hits:.0f}%</td>"
        f"<td align='right'>{cache.inserts}/{cache.removes}</td>{purges if cache.purges else _NO_PURGE}"
    )
    return f"<tr valign='top'><td nowrap>{name}</td>{cells}<td align='right'>0ms</td>\n</tr>\n\n"
