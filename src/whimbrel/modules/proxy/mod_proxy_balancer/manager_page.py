"""The page of the balancer-manager as httpd 2.4 writes it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from whimbrel.base.lazy_re import compile
from whimbrel.engine.identity import server_name
from whimbrel.http.syntax.url import escape_html, escape_uri
from whimbrel.modules.generators.mod_autoindex.page import size_text
from whimbrel.modules.proxy.mod_proxy.model import WorkerStatus
from whimbrel.modules.proxy.mod_proxy_balancer.balancer import METHODS, Balancer, BalancerMember

if TYPE_CHECKING:
    from whimbrel.config.model import Server
    from whimbrel.engine.request import Request
    from whimbrel.modules.proxy.mod_proxy.settings import ProxyServerConfig

DOCTYPE: Final = (
    '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN" "http://www.w3.org/TR/html4/strict.dtd">\n'
)
_OTHERS: Final = compile("[^0-9A-Za-z]")
_COLUMNS: Final = "Worker URL|Route|RouteRedir|Factor|Set|Status|Elected|Busy|Load|To|From"
_CHECK_COLUMNS: Final = "HC Method|HC Interval|Passes|Fails|HC uri|HC Expr"
_BALANCER_COLUMNS: Final = (
    "MaxMembers|StickySession|DisableFailover|Timeout|FailoverAttempts|Method|Path|Active"
)
_SWITCHES: Final[tuple[tuple[str, str, WorkerStatus], ...]] = (
    ("Ignore Errors", "I", WorkerStatus.IGNORE_ERRORS),
    ("Draining Mode", "N", WorkerStatus.DRAIN),
    ("Disabled", "D", WorkerStatus.DISABLED),
    ("Hot Standby", "H", WorkerStatus.HOT_STANDBY),
    ("Hot Spare", "R", WorkerStatus.HOT_SPARE),
    ("HC Fail", "C", WorkerStatus.HC_FAIL),
    ("Stopped", "S", WorkerStatus.STOPPED),
)
_SUBMIT: Final = "<input type=submit value='Submit'></td></tr>\n"


def server_id(server: Server, main: Server) -> str:
    """Return the identifier of a server in names of its slots: a hash of its first address and its name."""
    digest = hashlib.md5(usedforsecurity=False)
    address = server.addresses[0] if server.is_virtual and server.addresses else None
    if address is None:
        digest.update(b"0.0.0.0\0\0")
    else:
        digest.update(f"{address.written}{address.host}".encode("latin-1"))
        digest.update(address.port.to_bytes(2, "little"))
    digest.update((server.name or main.name).encode("latin-1"))
    value = 0
    for char in digest.hexdigest():
        value = (ord(char) + (value << 6) + (value << 16) - value) & 0xFFFFFFFF
    return f"p{value:x}"


def sticky_names(balancer: Balancer, joint: str) -> str:
    """Return cookie and parameter, once if they are the same."""
    cookie = balancer.sticky
    path = balancer.sticky_path
    return escape_html(cookie) if cookie == path else f"{escape_html(cookie)}{joint}{escape_html(path)}"


def _style() -> str:
    """Return the style sheet."""

    def rule(name: str, spacing: str, style: str, collapse: str, color: str) -> str:
        lines = ["border-width: 1px", spacing, f"border-style: {style}", "border-color: gray"]
        lines += [line for line in (collapse, f"background-color: {color}", "text-align: center") if line]
        return f"{name} {{\n" + "".join(f" {line};\n" for line in lines) + "}\n"

    return (
        "<style type='text/css'>\n"
        + rule("table", "border-spacing: 3px", "solid", "border-collapse: collapse", "white")
        + rule("th", "padding: 2px", "dotted", "", "lightgray")
        + rule("td", "padding: 2px", "dotted", "", "white")
        + "</style>\n</head>\n"
    )


def _header(columns: str) -> str:
    return "".join(f"<th>{column}</th>" for column in columns.split("|"))


def radio(name: str, is_on: bool) -> str:
    """Return a cell with the buttons On and Off (create_radio)."""
    cell = "<td>"
    for value, word in ((1, "On"), (0, "Off")):
        mark = " checked" if is_on is bool(value) else ""
        cell += f"<label for='{name}{value}'>{word}</label> <input name='{name}' id='{name}{value}' "
        cell += f"value='{value}' type=radio{mark}>" + (" <br/> " if value else "</td>\n")
    return cell


class ManagerPage:
    """The page for one request."""

    def __init__(self, r: Request, conf: ProxyServerConfig, balancers: list[Balancer]) -> None:
        configuration = r.engine.configuration
        self.r = r
        self.conf = conf
        self.balancers = balancers
        self.uri = escape_uri(r.uri)
        self.id = server_id(r.server, r.engine.main)
        self.methods: tuple[str, ...] = configuration.provider("proxy_hcheck", "methods") or ()
        conditions: Any = configuration.provider("proxy_hcheck", "conditions")
        self.conditions: dict[str, str] = {} if conditions is None else conditions(r.server)

    def text(self, chosen: Balancer | None, member: BalancerMember | None) -> str:
        """Return the page, with the form of *chosen* or of its *member*."""
        out = [self._head(), *(self._balancer(balancer) for balancer in self.balancers), "<hr />\n"]
        if self.conditions:
            out.append(self._conditions())
        if chosen is not None:
            out.append(self._balancer_form(chosen) if member is None else self._member_form(chosen, member))
        out += [self.r.engine.signature(self.r), "</body></html>\n"]
        return "".join(out)

    def _head(self) -> str:
        r = self.r
        conf = self.conf
        built = r.engine.runtime.scoreboard.totals().get("built", "")
        return (
            f"{DOCTYPE}<html><head><title>Balancer Manager</title>\n{_style()}"
            f"<body><h1>Load Balancer Manager for {escape_html(server_name(r))}</h1>\n\n"
            f"<dl><dt>Server Version: {r.engine.server_field(r)}</dt>\n<dt>Server Built: {built}</dt>\n"
            f"<dt>Balancer changes will {'' if conf.balancer_persist else 'NOT '}be persisted on restart."
            f"</dt><dt>Balancers are {'' if conf.inherit else 'NOT '}inherited from main server."
            f"</dt><dt>ProxyPass settings are {'' if conf.pass_inherit else 'NOT '}inherited from main "
            "server.</dt></dl>\n"
        )

    # tables -----------------------------------------------------------------------------------------
    def _balancer(self, balancer: Balancer) -> str:
        conf = balancer.conf
        alnum = _OTHERS.sub("_", balancer.short_name)
        most = len(conf.members) + (conf.parameters.growth or 0)
        sticky = sticky_names(balancer, "|") if balancer.sticky else " (None) "
        path = f"{conf.host} -> {conf.path}" if conf.host else conf.path
        columns = _header(_COLUMNS + (f"|{_CHECK_COLUMNS}" if self.methods else ""))
        return (
            f'<hr />\n<h3>LoadBalancer Status for <a href="{self.uri}?b={balancer.short_name}&amp;nonce='
            f'{balancer.nonce}">{balancer.name}</a> [{self.id}_{alnum}]</h3>\n\n\n<table><tr>'
            f"{_header(_BALANCER_COLUMNS)}</tr>\n<tr><td>{most} [{most - balancer.room} Used]</td>\n"
            f"<td>{sticky}</td><td>{'On' if balancer.forced else 'Off'}</td>\n"
            f"<td>{round(balancer.timeout)}</td><td>{balancer.max_attempts}</td>\n<td>{balancer.method}</td>\n"
            f"<td>{path}</td>\n<td>Yes</td>\n</tr>\n</table>\n<br />\n\n<table><tr>{columns}</tr>\n"
            + "".join(self._member(balancer, member) for member in balancer.members)
            + "</table>\n"
        )

    def _member(self, balancer: Balancer, member: BalancerMember) -> str:
        worker, state = member
        busy, elected, transferred, read = state.totals()
        return (
            f'<tr>\n<td><a href="{self.uri}?b={balancer.short_name}&amp;w={escape_uri(worker.name)}'
            f'&amp;nonce={balancer.nonce}">{_shown(member)}</a></td><td>{escape_html(state.route)}</td>'
            f"<td>{escape_html(state.redirect)}</td><td>{state.lbfactor / 100:.2f}</td><td>{state.lbset}</td>"
            f"<td>{state.words}</td><td>{elected}</td><td>{busy}</td><td>{state.lbstatus}</td>"
            f"<td>{size_text(transferred)}</td><td>{size_text(read)}"
            f"{self._check(member) if self.methods else ''}</td></tr>\n"
        )

    def _check(self, member: BalancerMember) -> str:
        state = member.state
        return (
            f"</td><td>{self.methods[state.method]}</td><td>{round(state.interval * 1000)}ms</td>"
            f"<td>{state.passes} ({state.passed})</td><td>{state.fails} ({state.failed})</td>"
            f"<td>{escape_html(state.uri)}</td><td>{escape_html(state.expression)}"
        )

    def _conditions(self) -> str:
        """Return the table of the expressions of health checks."""
        rows = "".join(
            f"<tr><td>{escape_html(name)}</td><td>{escape_html(text)}</td></tr>\n"
            for name, text in self.conditions.items()
        )
        return (
            "\n\n<table><tr><th colspan='2'>Health check cond. expressions:</th></tr>\n"
            f"<tr><th>Expr name</th><th>Expression</th></tr>\n{rows}</table><hr/>\n"
        )

    # forms ------------------------------------------------------------------------------------------
    def _form(self) -> str:
        action = escape_uri(self.r.engine.construct_url(self.r, self.r.uri))
        return f"<form method='POST' enctype='application/x-www-form-urlencoded' action=\"{action}\">\n"

    def _hidden(self, balancer: Balancer) -> str:
        return (
            f"<input type=hidden name='b' id='b' value=\"{escape_html(balancer.short_name)}\">\n"
            f"<input type=hidden name='nonce' id='nonce' value='{escape_html(balancer.nonce)}'>\n"
            "</form>\n<hr />\n"
        )

    def _member_form(self, balancer: Balancer, member: BalancerMember) -> str:
        worker, state = member
        switches = [each for each in _SWITCHES if self.methods or each[1] != "C"]
        return (
            f"<h3>Edit worker settings for {_shown(member)}</h3>\n{self._form()}<table>"
            + _input("Load factor:", "w_lf", f"'{state.lbfactor / 100:.2f}'")
            + _input("LB Set:", "w_ls", f"'{state.lbset}'")
            + _input("Route:", "w_wr", f'"{escape_html(state.route)}"')
            + _input("Route Redirect:", "w_rr", f'"{escape_html(state.redirect)}"')
            + "<tr><td>Status:</td><td><table><tr>"
            + "".join(f"<th>{label}</th>" for label, _, _ in switches)
            + "</tr>\n<tr>"
            + "".join(radio(f"w_status_{letter}", state.has(bit)) for _, letter, bit in switches)
            + "</tr></table></td></tr>\n"
            + (self._check_form(member) if self.methods else "")
            + f"<tr><td colspan='2'>{_SUBMIT}</table>\n"
            f"<input type=hidden name='w' id='w' value=\"{escape_uri(worker.name)}\">\n"
            + self._hidden(balancer)
        )

    def _check_form(self, member: BalancerMember) -> str:
        state = member.state
        options = [(name, name == self.methods[state.method]) for name in self.methods if name]
        expressions = [(escape_html(name), name == state.expression) for name in self.conditions]
        return (
            "<tr><td colspan='2'>\n<table align='center'><tr><th>Health Check param</th><th>Value</th></tr>\n"
            f"<tr><td>Method</td><td><select name='w_hm'>\n{_options(options)}</select>\n</td></tr>\n"
            f"<tr><td>Expr</td><td><select name='w_he'>\n{_options(expressions)}</select>\n</td></tr>\n"
            + _input("Interval (ms)", "w_hi", f"'{round(state.interval * 1000)}'", "'text'")
            + _input("Passes trigger", "w_hp", f"'{state.passes}'", "'text'")
            + _input("Fails trigger)", "w_hf", f"'{state.fails}'", "'text'")
            + _input("HC uri", "w_hu", f'"{escape_html(state.uri)}"', "'text'")
            + "</table>\n</td></tr>\n"
        )

    def _balancer_form(self, balancer: Balancer) -> str:
        method = balancer.method
        names = self.r.engine.configuration.modules.providers(METHODS)
        choices = "".join(
            f"<option value='{name}'{' selected ' if name == method else ''}>{name}\n" for name in names
        )
        sticky = sticky_names(balancer, "|")
        added = (
            "<tr><td>Add New Worker:</td><td><input name='b_nwrkr' id='b_nwrkr' size=32 type=text>"
            "&nbsp;&nbsp;&nbsp;&nbsp;Are you sure? <input name='b_wyes' id='b_wyes' type=checkbox value='1'>"
            "</td></tr>"
        )
        return (
            f"<h3>Edit balancer settings for {escape_html(balancer.name)}</h3>\n{self._form()}<table>\n"
            f"<tr><td>LBmethod:</td><td>\n<select name='b_lbm' id='b_lbm'>{choices}</select>\n</td></tr>\n"
            + _input("Timeout:", "b_tmo", f"'{round(balancer.timeout)}'")
            + _input("Failover Attempts:", "b_max", f"'{balancer.max_attempts}'")
            + f"<tr><td>Disable Failover:</td>{radio('b_sforce', bool(balancer.forced))}</tr>\n"
            "<tr><td>Sticky Session:</td><td><input name='b_ss' id='b_ss' size=64 type=text "
            f"value =\"{sticky}\">&nbsp;&nbsp;&nbsp;&nbsp;(Use '-' to delete)</td></tr>\n"
            + (added if balancer.room else "")
            + f"<tr><td colspan=2>{_SUBMIT}</table>\n"
            + self._hidden(balancer)
        )


def _shown(member: BalancerMember) -> str:
    """Return the URL of a member, in italics if it has a Unix socket."""
    name = member.worker.printed
    return f"<i>{name}</i>" if member.worker.uds_path else name


def _input(label: str, name: str, value: str, kind: str = "text") -> str:
    return f"<tr><td>{label}</td><td><input name='{name}' id='{name}' type={kind} value={value}></td></tr>\n"


def _options(options: list[tuple[str, bool]]) -> str:
    return "".join(
        f"<option value='{name}' {'selected' if is_selected else ''} >{name}</option>\n"
        for name, is_selected in options
    )
