"""The section of server-status about balancers (ProxyStatus)."""

from __future__ import annotations

from typing import Final

from whimbrel.engine.request import Request
from whimbrel.http.syntax.url import escape_html
from whimbrel.modules.generators.mod_autoindex.page import size_text
from whimbrel.modules.proxy.mod_proxy.settings import ProxyServerConfig
from whimbrel.modules.proxy.mod_proxy_balancer.balancer import Balancer, BalancerMember, balancer_of
from whimbrel.modules.proxy.mod_proxy_balancer.manager_22 import status_words

_LEGEND: Final = (
    ("SSes", "Sticky session name"),
    ("Timeout", "Balancer Timeout"),
    ("Sch", "Connection scheme"),
    ("Host", "Backend Hostname"),
    ("Stat", "Worker status"),
    ("Route", "Session Route"),
    ("Redir", "Session Route Redirection"),
    ("F", "Load Balancer Factor"),
    ("Acc", "Number of uses"),
    ("Wr", "Number of bytes transferred"),
    ("Rd", "Number of bytes read"),
)


def section(r: Request, is_plain: bool) -> str:
    """Return the section, "" without balancers or under ProxyStatus Off; *is_plain*: for ``?auto``."""
    conf = r.server_conf(ProxyServerConfig)
    is_old = not r.plan.dialect.messages_24
    if conf.proxy_status == "off" or not conf.balancers or (is_plain and is_old):
        return ""
    r.set_uncacheable()
    balancers = [balancer_of(r.engine, balancer) for balancer in conf.balancers]
    for balancer in balancers:
        balancer.synchronize()
    if is_plain:
        return "".join(_lines(number, balancer) for number, balancer in enumerate(balancers))
    legend = "".join(f"<tr><th>{name}</th><td>{text}</td></tr>\n" for name, text in _LEGEND)
    return "".join(map(_table, balancers)) + f"<hr /><table>\n{legend}</table>"


def _lines(number: int, balancer: Balancer) -> str:
    prefix = f"ProxyBalancer[{number}]"
    out = [f"{prefix}Name: {balancer.name}\n"]
    for index, (worker, state) in enumerate(balancer.members):
        busy, elected, transferred, read = state.totals()
        facts = (
            ("Name", worker.name),
            ("Status", state.words),
            ("Elected", elected),
            ("Busy", busy),
            ("Sent", f"{transferred // 1024}K"),
            ("Rcvd", f"{read // 1024}K"),
        )
        out += [f"{prefix}Worker[{index}]{name}: {value}\n" for name, value in facts]
    return "".join(out)


def _table(balancer: Balancer) -> str:
    cookie = escape_html(balancer.sticky)
    path = escape_html(balancer.sticky_path)
    sticky = " - "
    if cookie:
        sticky = cookie if cookie == path else f"{cookie} | {path}"
    columns = ["Sch", "Host", "Stat", "Route", "Redir", "F", "Set", "Acc", "Busy", "Wr", "Rd"]
    if balancer.is_old:
        columns.remove("Busy")
    return (
        f"<hr />\n<h1>Proxy LoadBalancer Status for {balancer.name}</h1>\n\n\n\n"
        '<table border="0"><tr><th>SSes</th><th>Timeout</th><th>Method</th></tr>\n'
        f"<tr><td>{sticky}</td><td>{round(balancer.timeout)}</td><td>{balancer.method}</td>\n</table>\n\n\n"
        f'<table border="0"><tr>{"".join(f"<th>{column}</th>" for column in columns)}</tr>\n'
        + "".join(_row(balancer, member) for member in balancer.members)
        + "</table>\n"
    )


def _row(balancer: Balancer, member: BalancerMember) -> str:
    worker, state = member
    busy, elected, transferred, read = state.totals()
    old = balancer.is_old
    cells: list[object] = [
        worker.scheme,
        worker.hostname,
        status_words(state) if old else state.words,
        escape_html(state.route),
        escape_html(state.redirect),
        state.lbfactor if old else f"{state.lbfactor / 100:.2f}",
        state.lbset,
        elected,
        *([] if old else [busy]),
        size_text(transferred),
        size_text(read),
    ]
    return "<tr>\n" + "".join(f"<td>{cell}</td>" for cell in cells) + "\n</tr>\n"
