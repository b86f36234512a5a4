"""The balancer-manager of 2.2: forms by GET, one nonce for the server, members only."""

from __future__ import annotations

import re
from typing import Any, Final

from whimbrel.base.lazy_re import compile
from whimbrel.base.numbers import atoi, lower
from whimbrel.engine.identity import server_name
from whimbrel.engine.request import Request
from whimbrel.http.syntax.url import escape_html, escape_uri, unescape_loose
from whimbrel.modules.generators.mod_autoindex.page import size_text
from whimbrel.modules.proxy.mod_proxy.model import BALANCER_PREFIX, WorkerStatus, find_balancer, find_worker
from whimbrel.modules.proxy.mod_proxy.settings import ProxyServerConfig
from whimbrel.modules.proxy.mod_proxy.worker_state import MAX_ROUTE
from whimbrel.modules.proxy.mod_proxy_balancer.balancer import Balancer, BalancerMember, balancer_of
from whimbrel.registry.methods import NAMES
from whimbrel.registry.phases import DECLINED, OK, HookStatus

DOCTYPE: Final = '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN">\n'
NONCE: Final = "balancer nonce"  # group of providers; the value is that of the server
_GET: Final = NAMES.index("GET")
_BAD_ESCAPE: Final = compile(r"%(?![0-9A-Fa-f]{2})")
_PATH_ESCAPE: Final = compile(r"%(?:2f|00)", re.IGNORECASE)
_WORDS: Final = (
    (WorkerStatus.DISABLED, "Dis "),
    (WorkerStatus.IN_ERROR, "Err "),
    (WorkerStatus.STOPPED, "Stop "),
    (WorkerStatus.HOT_STANDBY, "Stby "),
)


async def serve(r: Request) -> HookStatus:
    """Answer GET with the page; the query may change a member."""
    r.allowed = 1 << _GET
    if r.method_number != _GET:
        return DECLINED
    fields = _fields(r.args)
    if isinstance(fields, int):
        return fields
    conf = r.server_conf(ProxyServerConfig)
    balancers = [balancer_of(r.engine, balancer) for balancer in conf.balancers]
    nonce: str = r.engine.configuration.provider(NONCE, "")
    if fields.get("nonce") != nonce:
        fields = {}
    chosen = None
    member = None
    if "b" in fields:
        found = find_balancer(conf.balancers, BALANCER_PREFIX + fields["b"])
        chosen = None if found is None else balancers[conf.balancers.index(found)]
    if chosen is not None and "w" in fields:
        worker = find_worker([each.worker for each in chosen.members], fields["w"])
        member = next((each for each in chosen.members if each.worker is worker), None)
    if chosen is not None and member is not None:
        _change(chosen, member, fields)
    if "xml" in fields:
        r.content_type = "text/xml"
        r.write(_document(balancers))
    else:
        r.content_type = "text/html; charset=ISO-8859-1"
        r.write(_page(r, balancers, nonce, chosen, member))
    return OK


def _fields(args: str | None) -> dict[str, str] | HookStatus:
    """Return the parameters of the query, the last of equal names; 400 or 404 if it cannot be read."""
    fields: dict[str, str] = {}
    rest = args or ""
    while rest:
        name, equals, rest = rest.partition("=")
        if not equals:
            return 400
        value, _, rest = rest.partition("&")
        if _BAD_ESCAPE.search(value):
            return 400
        if _PATH_ESCAPE.search(value) and name != "w":
            return 404
        fields[lower(name)] = unescape_loose(value).partition("\0")[0]
    return fields


def _change(balancer: Balancer, member: BalancerMember, fields: dict[str, str]) -> None:
    """Set the parameters of *member*."""
    state = member.state
    if "lf" in fields and 1 <= atoi(fields["lf"]) <= 100:
        state.lbfactor = atoi(fields["lf"])
        balancer.reset_factors()
    if "wr" in fields:
        state.route = fields["wr"] if len(fields["wr"]) < MAX_ROUTE else ""
    if "rr" in fields:
        state.redirect = fields["rr"] if len(fields["rr"]) < MAX_ROUTE else ""
    if lower(fields.get("dw", "")) in ("disable", "enable"):
        state.set_status(WorkerStatus.DISABLED, lower(fields["dw"]) == "disable")
    if "ls" in fields and 0 <= atoi(fields["ls"]) <= 99:
        state.lbset = atoi(fields["ls"])


def status_words(state: Any) -> str:
    """Return the status as the page shows it."""
    words = "".join(word for bit, word in _WORDS if state.has(bit))
    return words + ("Ok" if state.is_usable else "") + ("" if state.has(WorkerStatus.INITIALIZED) else "-")


def _document(balancers: list[Balancer]) -> str:
    out = ['<?xml version="1.0" encoding="UTF-8" ?>\n<httpd:manager xmlns:httpd="http://httpd.apache.org">\n']
    out.append("  <httpd:balancers>\n")
    for balancer in balancers:
        out.append(f"    <httpd:balancer>\n      <httpd:name>{balancer.name}</httpd:name>\n")
        out.append("      <httpd:workers>\n")
        out += [
            f"        <httpd:worker>\n          <httpd:scheme>{worker.scheme}</httpd:scheme>\n"
            f"          <httpd:hostname>{worker.hostname}</httpd:hostname>\n"
            f"         <httpd:loadfactor>{state.lbfactor}</httpd:loadfactor>\n        </httpd:worker>\n"
            for worker, state in balancer.members
        ]
        out.append("      </httpd:workers>\n    </httpd:balancer>\n")
    return "".join(out) + "  </httpd:balancers>\n</httpd:manager>"


def _page(
    r: Request, balancers: list[Balancer], nonce: str, chosen: Balancer | None, member: BalancerMember | None
) -> str:
    built = r.engine.runtime.scoreboard.totals().get("built", "")
    out = [
        f"{DOCTYPE}<html><head><title>Balancer Manager</title></head>\n"
        f"<body><h1>Load Balancer Manager for {escape_html(server_name(r))}</h1>\n\n"
        f"<dl><dt>Server Version: {r.engine.server_field(r)}</dt>\n"
        f"<dt>Server Built: {built}\n</dt></dl>\n"
    ]
    uri = escape_uri(r.uri)
    out += [_balancer(uri, balancer, nonce) for balancer in balancers]
    out.append("<hr />\n")
    if chosen is not None and member is not None:
        out.append(_form(uri, chosen, member, nonce))
    return "".join([*out, r.engine.signature(r), "</body></html>\n"])


def _balancer(uri: str, balancer: Balancer, nonce: str) -> str:
    """Return the tables of a balancer and its members."""
    cookie = balancer.sticky
    path = balancer.sticky_path
    sticky = escape_html(cookie if cookie == path else f"{cookie}|{path}") if cookie else " - "
    table = '<table border="0" style="text-align: left;"><tr>'
    out = [
        f"<hr />\n<h3>LoadBalancer Status for {balancer.name}</h3>\n\n\n\n{table}<th>StickySession</th>"
        f"<th>Timeout</th><th>FailoverAttempts</th><th>Method</th></tr>\n<tr><td>{sticky}</td>"
        f"<td>{round(balancer.timeout)}</td><td>{balancer.max_attempts}</td>\n<td>{balancer.method}</td>\n"
        f"</table>\n<br />\n\n{table}<th>Worker URL</th><th>Route</th><th>RouteRedir</th><th>Factor</th>"
        "<th>Set</th><th>Status</th><th>Elected</th><th>To</th><th>From</th></tr>\n"
    ]
    for worker, state in balancer.members:
        _, elected, transferred, read = state.totals()
        link = f"{uri}?b={balancer.short_name}&w={escape_uri(worker.name)}&nonce={nonce}"
        out.append(
            f'<tr>\n<td><a href="{link}">{worker.name}</a></td><td>{escape_html(state.route)}</td>'
            f"<td>{escape_html(state.redirect)}</td><td>{state.lbfactor}</td><td>{state.lbset}</td>"
            f"<td>{status_words(state)}</td><td>{elected}</td><td>{size_text(transferred)}</td>"
            f"<td>{size_text(read)}</td></tr>\n"
        )
    return "".join(out) + "</table>\n"


def _form(uri: str, balancer: Balancer, member: BalancerMember, nonce: str) -> str:
    """Return the form of a member."""
    worker, state = member
    off = state.has(WorkerStatus.DISABLED)

    def row(label: str, name: str, value: object) -> str:
        return f'<tr><td>{label}</td><td><input name="{name}" type=text value="{value}"></td></tr>\n'

    def hidden(name: str, value: str) -> str:
        return f'<input type=hidden name="{name}" value="{value}">\n'

    return (
        f'<h3>Edit worker settings for {worker.name}</h3>\n<form method="GET" action="{uri}">\n<dl><table>'
        + row("Load factor:", "lf", state.lbfactor)
        + row("LB Set:", "ls", state.lbset)
        + row("Route:", "wr", escape_html(state.route))
        + row("Route Redirect:", "rr", escape_html(state.redirect))
        + '<tr><td>Status:</td><td>Disabled: <input name="dw" value="Disable" type=radio'
        + (" checked" if off else "")
        + '> | Enabled: <input name="dw" value="Enable" type=radio'
        + ("" if off else " checked")
        + '></td></tr>\n<tr><td colspan=2><input type=submit value="Submit"></td></tr>\n</table>\n'
        + hidden("w", escape_uri(worker.name))
        + hidden("b", balancer.short_name)
        + hidden("nonce", nonce)
        + "</form>\n<hr />\n"
    )
