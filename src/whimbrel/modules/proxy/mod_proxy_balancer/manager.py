"""The handler balancer-manager: a page that shows balancers and changes them.

Parameters count only if the Referer field names this server, and change something only with the balancer's
nonce (2.4). 2.2 takes all of them from the query, with the nonce of the server.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite, trunc
from typing import Final

from whimbrel.base.errors import ConfigError
from whimbrel.base.numbers import atof, atoi, lower, upper
from whimbrel.catalogue.checks.numbers import timeout as milliseconds
from whimbrel.config.execute import root_relative
from whimbrel.config.mpm_config import MpmConfig
from whimbrel.engine.identity import server_name
from whimbrel.engine.request import Request
from whimbrel.http.syntax.target import split_url
from whimbrel.http.syntax.url import unescape_loose
from whimbrel.modules.proxy.mod_proxy.model import (
    BALANCER_PREFIX,
    LETTERS,
    LOAD_UNIT,
    find_balancer,
    find_worker,
    without_socket,
)
from whimbrel.modules.proxy.mod_proxy.settings import ProxyServerConfig
from whimbrel.modules.proxy.mod_proxy.worker_state import MAX_EXPRESSION, MAX_ROUTE
from whimbrel.modules.proxy.mod_proxy_balancer import manager_22
from whimbrel.modules.proxy.mod_proxy_balancer.balancer import (
    MAX_METHOD,
    MAX_STICKY,
    Balancer,
    BalancerMember,
    balancer_of,
)
from whimbrel.modules.proxy.mod_proxy_balancer.manager_page import ManagerPage
from whimbrel.modules.proxy.mod_proxy_balancer.manager_xml import document
from whimbrel.modules.proxy.mod_proxy_balancer.messages import log
from whimbrel.registry.methods import NAMES
from whimbrel.registry.module import CompiledHook, Reads, Scope
from whimbrel.registry.phases import DECLINED, DONE, HookStatus

HANDLER_NAME: Final = "balancer-manager"
HTML: Final = "text/html; charset=ISO-8859-1"
MAX_FORM: Final = 1024  # bytes of a form that are read
SHORTEST_INTERVAL: Final = 100  # milliseconds between checks
_GET = NAMES.index("GET")
_POST = NAMES.index("POST")
_QUERY_NAMES: Final = frozenset(("w", "b", "nonce", "xml"))
_STATUS_LETTERS: Final = "INDHRSC"


def make_handler(scope: Scope) -> CompiledHook:
    """Make the handler."""
    serve = _serve_24 if scope.dialect.messages_24 else manager_22.serve

    async def handle(r: Request) -> HookStatus:
        if r.handler != HANDLER_NAME:
            return DECLINED
        r.set_uncacheable()
        return await serve(r)

    return CompiledHook(
        handle, Reads.HEAD | Reads.UNCACHEABLE, is_async=True, handlers=frozenset((HANDLER_NAME,))
    )


async def _serve_24(r: Request) -> HookStatus:
    r.allowed = 1 << _GET | 1 << _POST
    if r.method_number not in (_GET, _POST):
        return DECLINED
    conf = r.server_conf(ProxyServerConfig)
    balancers = [balancer_of(r.engine, balancer) for balancer in conf.balancers]
    for balancer in balancers:
        balancer.synchronize()
    fields: dict[str, str] = {}
    if r.method_number == _GET and r.args:
        pairs = parameters(r.args)
        fields = {name: value for name, value in pairs if name in _QUERY_NAMES}
    elif r.method_number == _POST:
        fields = {lower(name): value for name, value in parameters(await _form(r))}
    if not has_safe_referer(r):
        referer = r.headers_in.get("Referer")
        text = f"{'(null)' if referer is None else referer}: {server_name(r)}"
        log(r, "error", "AH10187", f"ignoring params in balancer-manager cross-site access {text}")
        fields = {}
    chosen, member = _selected(r, conf, balancers, fields)
    if chosen is not None and chosen.nonce and fields.get("nonce") == chosen.nonce:
        if member is not None:
            _change_member(r, chosen, member, fields)
        _change_balancer(chosen, fields)
        if fields.get("b_wyes") == "1" and "b_nwrkr" in fields and not _add(r, chosen, fields["b_nwrkr"]):
            return 400
        chosen.synchronize()
    if "xml" in fields:
        r.content_type = "text/xml"
        r.write(document(r, balancers))
    else:
        r.content_type = HTML
        r.chunked = True
        r.write(ManagerPage(r, conf, balancers).text(chosen, member))
    return DONE


async def _form(r: Request) -> str:
    """Return the beginning of the request's body."""
    data = b""
    while len(data) < MAX_FORM:
        piece = await r.body_in.read()
        if not piece:
            break
        data += piece
    return data[:MAX_FORM].decode("latin-1")


def parameters(text: str) -> list[tuple[str, str]]:
    """Return names and values of a query or form, decoded; ``+`` stays."""
    pairs = []
    for word in text.split("&"):
        if word:
            name, _, value = word.partition("=")
            pairs.append((_decoded(name), _decoded(value)))
    return pairs


def _decoded(text: str) -> str:
    return unescape_loose(text).partition("\0")[0]


def has_safe_referer(r: Request) -> bool:
    """Return True if the Referer field names this server (safe_referer)."""
    referer = r.headers_in.get("Referer")
    parts = None if referer is None else split_url(referer)
    return parts is not None and bool(parts.hostname) and lower(parts.hostname or "") == lower(server_name(r))


def _selected(
    r: Request, conf: ProxyServerConfig, balancers: list[Balancer], fields: Mapping[str, str]
) -> tuple[Balancer | None, BalancerMember | None]:
    """Return the balancer and the member that the parameters name."""
    if "b" not in fields:
        return None, None
    found = find_balancer(conf.balancers, BALANCER_PREFIX + fields["b"])
    if found is None:
        return None, None
    balancer = balancers[conf.balancers.index(found)]
    return balancer, find_member(balancer, fields.get("w"))


def find_member(balancer: Balancer, name: str | None) -> BalancerMember | None:
    """Return the member whose URL *name* begins with, None without one."""
    url = None if name is None else without_socket(name)
    if url is None:
        return None
    worker = find_worker([member.worker for member in balancer.members], url)
    return next((member for member in balancer.members if member.worker is worker), None)


# Changes ----------------------------------------------------------------------------------------
def _change_member(r: Request, balancer: Balancer, member: BalancerMember, fields: Mapping[str, str]) -> None:
    """Set the parameters of a member (balancer_process_balancer_worker).

    A member that is usable again resets nothing: httpd only does so once the method changes, too.
    """
    state = member.state
    factor = _factor(fields.get("w_lf"))
    if 100 <= factor <= 10000:
        state.lbfactor = factor
        balancer.reset_factors()
    for name, field in (("w_wr", "route"), ("w_rr", "redirect"), ("w_hu", "uri")):
        if name in fields:
            setattr(state, field, fields[name] if len(fields[name]) < MAX_ROUTE else "")
    for letter in _STATUS_LETTERS:
        value = fields.get(f"w_status_{lower(letter)}")
        if value is not None:
            state.set_status(LETTERS[letter], atoi(value) != 0)
    if 0 <= _number(fields, "w_ls") <= 99:
        state.lbset = _number(fields, "w_ls")
    interval = milliseconds(fields["w_hi"], "2.4") if "w_hi" in fields else None
    if interval is not None and interval >= SHORTEST_INTERVAL:
        state.interval = interval / 1000
    for name, field in (("w_hp", "passes"), ("w_hf", "fails")):
        if _number(fields, name) >= 1:
            setattr(state, field, _number(fields, name))
    _change_check(r, member, fields)


def _change_check(r: Request, member: BalancerMember, fields: Mapping[str, str]) -> None:
    """Set method and expression of the health check."""
    provider = r.engine.configuration.provider
    methods: tuple[str, ...] = provider("proxy_hcheck", "methods") or ()
    conditions = provider("proxy_hcheck", "conditions")
    state = member.state
    method = upper(fields.get("w_hm", ""))
    if method and method in methods:
        state.method = methods.index(method)
    expression = fields.get("w_he")
    if conditions is not None and expression is not None:
        known = expression in conditions(r.server) and len(expression) < MAX_EXPRESSION
        state.expression = expression if known else ""
    if state.method < 2:  # NONE and TCP have no response
        state.expression = ""


def _change_balancer(balancer: Balancer, fields: Mapping[str, str]) -> None:
    """Set the parameters of a balancer."""
    method = fields.get("b_lbm")
    if method is not None and method != balancer.method and len(method) < MAX_METHOD - 1:
        if balancer.has_method(method):
            balancer.method = method
            balancer.needs_reset = 1
    if 0 <= _number(fields, "b_tmo") <= 7200:
        balancer.timeout = _number(fields, "b_tmo")
    if 0 <= _number(fields, "b_max") <= 99:
        balancer.max_attempts = _number(fields, "b_max")
    if "b_sforce" in fields:
        balancer.forced = 1 if atoi(fields["b_sforce"]) else 0
    sticky = fields.get("b_ss", "")
    if sticky == "-":
        balancer.sticky = ""
        balancer.sticky_path = ""
    elif 0 < len(sticky) < MAX_STICKY - 1:
        cookie, bar, path = sticky.partition("|")
        balancer.sticky = cookie
        balancer.sticky_path = path if bar else sticky


def _add(r: Request, balancer: Balancer, url: str) -> bool:
    """Add a member for *url*; return False if that is not possible."""
    text = f"{balancer.name}: failed to add worker {url}"
    if find_member(balancer, url) is not None or balancer.room < 1:
        log(r, "error", "AH10164", text)
        return False
    socket, bar, rest = url.partition("|")
    try:
        if bar and lower(socket[:5]) == "unix:":
            directory = r.engine.main.config(MpmConfig).run_directory
            root = directory or f"{r.engine.configuration.root}/logs"
            balancer.add(rest, root_relative(root, socket[5:]))
        else:
            balancer.add(url, "")
    except ConfigError:
        log(r, "error", "AH10163", text)
        return False
    return True


def _number(fields: Mapping[str, str], name: str) -> int:
    """Return a number of the form, -1 without one."""
    return atoi(fields[name]) if name in fields else -1


def _factor(value: str | None) -> int:
    """Return a load factor in hundredths, 0 for none (atof)."""
    factor = atof(value or "")
    return trunc(factor * LOAD_UNIT) if isfinite(factor) else 0
