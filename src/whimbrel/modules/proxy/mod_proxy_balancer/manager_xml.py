"""The balancer-manager as XML (2.4, ``?xml=1``)."""

from __future__ import annotations

from collections.abc import Iterator
from math import floor
from typing import TYPE_CHECKING

from whimbrel.http.semantics.dates import format_http
from whimbrel.http.syntax.url import escape_html
from whimbrel.modules.proxy.mod_proxy_balancer.balancer import Balancer, BalancerMember

if TYPE_CHECKING:
    from whimbrel.engine.request import Request
    from whimbrel.modules.proxy.mod_proxy.model import WorkerParameters


def document(r: Request, balancers: list[Balancer]) -> str:
    """Return the state of all balancers."""
    threads = r.engine.configuration.spec.threads
    return (
        "<?xml version='1.0' encoding='UTF-8' ?>\n"
        "<httpd:manager xmlns:httpd='http://httpd.apache.org'>\n  <httpd:balancers>\n"
        + "".join(_balancer(balancer, threads) for balancer in balancers)
        + "  </httpd:balancers>\n</httpd:manager>"
    )


def _element(depth: int, name: str, value: object, end: str = "\n") -> str:
    return f"{' ' * depth}<httpd:{name}>{value}</httpd:{name}>{end}"


def _switch(value: object) -> str:
    return "On" if value else "Off"


def _balancer(balancer: Balancer, threads: int) -> str:
    sticky = balancer.sticky
    given = len(balancer.members) > 1 or "maxattempts" in balancer.conf.parameters.given
    out = ["    <httpd:balancer>\n", _element(6, "name", balancer.name), _element(6, "nonce", balancer.nonce)]
    if sticky:
        out.append(_element(6, "stickysession", escape_html(sticky)))
        out.append(_element(6, "nofailover", _switch(balancer.forced)))
    out.append(_element(6, "timeout", round(balancer.timeout), ""))
    if given:
        out.append(_element(6, "maxattempts", balancer.max_attempts))
    out.append(_element(6, "lbmethod", balancer.method))
    if sticky:
        out.append(_element(6, "scolonpathdelim", _switch(balancer.conf.parameters.scolonpathdelim)))
    out.append("      <httpd:workers>\n")
    for member in balancer.members:
        fields = "".join(_element(depth, name, value) for depth, name, value in _worker(member, threads))
        out.append(f"        <httpd:worker>\n{fields}        </httpd:worker>\n")
    out.append("      </httpd:workers>\n    </httpd:balancer>\n")
    return "".join(out)


def _worker(member: BalancerMember, threads: int) -> Iterator[tuple[int, str, object]]:
    """Yield indentation, name and value of each element."""
    worker, state = member
    conf = worker.parameters
    most = min(conf.max, threads) if conf.max else threads
    yield 10, "name", escape_html(worker.printed)
    yield 10, "scheme", worker.scheme
    yield 10, "hostname", worker.hostname
    yield 10, "loadfactor", f"{state.lbfactor / 100:.2f}"
    yield 10, "port", worker.port
    yield 10, "min", conf.min
    yield 10, "smax", most if conf.smax < 0 or conf.smax > most else conf.smax
    yield 10, "max", most
    yield 10, "ttl", round(conf.ttl)
    yield from _given(conf)
    yield 10, "status", state.words
    if state.error_time > 0:
        yield 10, "error_time", format_http(floor(state.error_time))
    busy, elected, transferred, read = state.totals()
    yield 10, "retries", state.retries
    yield 10, "lbstatus", state.lbstatus
    yield 10, "loadfactor", f"{state.lbfactor / 100:.2f}"
    yield 10, "transferred", transferred
    yield 10, "read", read
    yield 10, "elected", elected
    yield 10, "route", escape_html(state.route)
    yield 10, "redirect", escape_html(state.redirect)
    yield 10, "busy", busy
    yield 10, "lbset", state.lbset
    if worker.scheme == "ajp":
        yield 10, "flushpackets", conf.flushpackets.capitalize()
        if conf.flushpackets == "auto":
            yield 10, "flushwait", round(conf.flushwait * 1000000)
        if conf.ping is not None:
            yield 10, "ping", round(conf.ping * 1000)
    if "disablereuse" in conf.given:
        yield 6, "disablereuse", _switch(conf.disablereuse)
    if conf.connectiontimeout is not None:
        yield 10, "connectiontimeout", round(conf.connectiontimeout * 1000)
    if "retry" in conf.given:
        yield 10, "retry", round(conf.retry)


def _given(conf: WorkerParameters) -> Iterator[tuple[int, str, object]]:
    """Yield the parameters that a line set."""
    if conf.timeout is not None:
        yield 10, "timeout", round(conf.timeout)
    if conf.acquire is not None:
        yield 10, "acquire", round(conf.acquire * 1000)
    if "receivebuffersize" in conf.given:
        yield 10, "recv_buffer_size", conf.receivebuffersize
    if "iobuffersize" in conf.given:
        yield 10, "io_buffer_size", conf.iobuffersize
    if "keepalive" in conf.given:
        yield 10, "keepalive", _switch(conf.keepalive)
