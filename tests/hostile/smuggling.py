"""Requests that two servers could read differently, through chains of proxies and origins.

Each odd request carries a hidden one behind it. An origin may log the hidden request only if the proxy in
front of it has logged it too: else the proxy took it for a body. The next client must get its own response.
"""

from __future__ import annotations

import re
import socket
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Final

from tests.hostile.measure import Budget, Measure, Result
from tests.hostile.proxies import OtherServer, program
from tests.hostile.server import APACHE, WHIMBREL, HostileSite, ServerProcess, read_until_closed
from tests.hostile.wire import cases

HTTPD: Final = {"apache2": APACHE, "whimbrel": WHIMBREL}
OTHERS: Final = ("nginx", "haproxy", "apache2")
AT_ONE_TIME: Final = 16
PATIENCE: Final = 4.0  # seconds; proxies close after one second without data
CONF: Final = """\
HttpProtocolOptions {options}
Timeout 1
KeepAliveTimeout 1
LogLevel crit
"""
ORIGIN: Final = "RewriteEngine On\nRewriteRule ^/victim-([0-9]+) /went-$1 [R=302,L]\n"
PROXY: Final = """\
LoadModule proxy_module /usr/lib/apache2/modules/mod_proxy.so
LoadModule proxy_http_module /usr/lib/apache2/modules/mod_proxy_http.so
ProxyPass / http://127.0.0.1:{behind}/
"""
WENT: Final = re.compile(rb"\r\nlocation: [^\r\n]*/went-(\d+)\r\n", re.I)
STATUS: Final = re.compile(rb"HTTP/1\.[01] (\d{3}) ")
HIDDEN: Final = re.compile(r'"[^"]*/hidden-(\d+) ')

Chain = tuple[str, str, str]  # the proxy, the origin, HttpProtocolOptions of httpd and Whimbrel


def chains() -> list[Chain]:
    """Return the chains of programs that are installed; Whimbrel has a part in each."""
    present = [name for name in OTHERS if (APACHE.is_present if name == "apache2" else program(name))]
    pairs = [pair for name in present for pair in ((name, "whimbrel"), ("whimbrel", name))]
    return [(front, back, options) for options in ("Strict", "Unsafe") for front, back in pairs]


@contextmanager
def running(name: str, options: str, behind: int | None = None) -> Iterator[OtherServer | ServerProcess]:
    """Run a proxy to the port *behind*, or an origin."""
    if name not in HTTPD:
        with OtherServer(name, behind) as other:
            yield other
        return
    conf = CONF.format(options=options) + (ORIGIN if behind is None else PROXY.format(behind=behind))
    with ServerProcess(HTTPD[name], HostileSite(conf)) as server:
        yield server


def lines_of(server: OtherServer | ServerProcess) -> list[str]:
    """Return the lines of its access log."""
    return server.lines() if isinstance(server, OtherServer) else server.access


def hidden(lines: Iterable[str]) -> Counter[int]:
    """Return how often each hidden request is in a log."""
    return Counter(int(found[1]) for line in lines if (found := HIDDEN.search(line)))


def _exchange(port: int, data: bytes) -> bytes:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as wire:
        with suppress(OSError):
            wire.sendall(data)
        return read_until_closed(wire, time.monotonic() + PATIENCE)[0]
    return b""


def attack(port: int, number: int, data: bytes) -> str:
    """Send *data* with a hidden request, then a client of its own; return the problem, "" for none."""
    _exchange(
        port, data + b"GET /hidden-%d HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % number
    )
    reply = _exchange(
        port, b"GET /victim-%d HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % number
    )
    status = STATUS.match(reply)
    if status is None or status[1][:1] == b"5":  # the proxy has lost its connection to the origin
        return ""
    went = WENT.search(reply)
    return "" if went is not None and int(went[1]) == number else f"another response: {reply[:200]!r}"


def attack_chain(chain: Chain, numbered: list[tuple[int, bytes]]) -> list[str]:
    """Send cases through a chain; return a line for each that is read differently."""
    front, back, options = chain
    name = f"{front} in front of {back} ({options})"
    with (
        running(back, options) as origin,
        running(front, options, origin.port) as proxy,
        ThreadPoolExecutor(AT_ONE_TIME) as pool,
    ):
        found = list(pool.map(lambda one: attack(proxy.port, *one), numbered))
        time.sleep(1.5)  # the last lines are written after the last bytes
        before = hidden(lines_of(proxy))
        behind = hidden(lines_of(origin))
        outputs = [one.output for one in (proxy, origin) if isinstance(one, ServerProcess)]
    texts = dict(numbered)
    failures = [
        f"{name}: {problem}: {texts[number]!r}"
        for (number, _data), problem in zip(numbered, found, strict=True)
        if problem
    ]
    failures += [
        f"{name}: smuggled: {texts[number]!r}"
        for number in behind
        if number in texts and behind[number] > before[number]
    ]
    failures += [f"{name}: a traceback: {text[-2000:]}" for text in outputs if "Traceback" in text]
    return failures


def run(budget: Budget) -> Result:
    """Send the cases of the budget, shared out over all chains."""
    result = Result()
    found = chains()
    if not found:
        return Result(skipped="neither nginx nor haproxy nor apache2 is installed")
    source = enumerate(cases(budget.random))
    share = max(1, budget.cases // len(found))
    sent: Counter[str] = Counter()
    budget.random.shuffle(found)  # a short run has time for some chains only
    for chain in found:
        left = share
        while left > 0 and not (budget.is_spent and sent):
            group = list(islice(source, min(left, 200)))
            left -= len(group)
            result.failures += attack_chain(chain, group)
            sent[" ".join(chain)] += len(group)
    result.figures = {
        "chains": len(sent),
        "requests": sum(sent.values()),
        "read otherwise": len(result.failures),
    }
    for name in OTHERS:
        if not any(name in chain for chain in found):
            result.figures[f"without {name}"] = "not installed"
    return result


MEASURES = (
    Measure(
        "smuggling",
        "No request is smuggled through Whimbrel to an origin, or to Whimbrel through a proxy: nginx, "
        "HAProxy and apache2 in front and behind.",
        run,
        6000,
        900,
    ),
)
