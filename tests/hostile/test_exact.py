"""Short forms of the measures of regular expressions, stale responses and odd requests."""

from __future__ import annotations

import pytest

pytest.importorskip("h2", reason="the optional package h2 is not installed")

from tests.hostile import regexes, stale, wire
from tests.hostile.measure import Budget
from tests.hostile.server import APACHE, WHIMBREL, HostileSite, ServerProcess
from whimbrel.engine.deps.files import Dependencies


def test_searches_end() -> None:
    result = regexes.run(Budget(60, 20.0))
    assert result.figures["searches"] and result.failures == []


def test_no_answer_is_stale() -> None:
    result = stale.run(Budget(len(stale.REQUESTS) * 6, 30.0, seed=2))
    assert result.figures["checks"] and result.failures == []


@pytest.mark.parametrize(
    "kind",
    [
        "variant added",
        "variant for none",
        "spelling: a second candidate",
        "home changed",
        "user of a home removed",
    ],
)
def test_a_listing_and_an_account_are_dependencies(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stale, "CHANGES", {kind: stale.CHANGES[kind]})
    assert stale.run(Budget(len(stale.REQUESTS), 30.0)).failures == []


def test_the_measure_sees_what_is_not_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stale, "CHANGES", {"variant added": stale.CHANGES["variant for none"]})
    monkeypatch.setattr(Dependencies, "stat_directory", Dependencies.stat)
    assert stale.run(Budget(len(stale.REQUESTS), 30.0)).failures


@pytest.mark.skipif(not APACHE.is_present, reason="apache2 is not installed")
@pytest.mark.parametrize("measure", wire.MEASURES, ids=lambda measure: measure.name)
def test_odd_requests_end_where_apache_ends_them(measure: wire.Measure) -> None:
    result = measure.run(Budget(60, 40.0, seed=5))
    assert result.figures["requests"] and result.failures == []


NEXT = wire.SENTINEL.decode("latin-1")
POST = "POST /e.cgi HTTP/1.1\r\nHost: localhost\r\n"
PRIVATE = "POST /private/a.txt HTTP/1.1\r\nHost: localhost\r\n"
TRACE = "TRACE /a.txt HTTP/1.1\r\nHost: localhost\r\n"
PINNED = {  # apache2 2.4.71: statuses, and the position of the sentinel's response
    POST + "Transfer-Encoding: x chunked\r\n\r\n0\r\n\r\n": ((400,), -1),
    POST + "Transfer-Encoding: chunked,\tchunked\r\n\r\n0\r\n\r\n": ((400,), -1),
    POST + "Transfer-Encoding: x\r\n chunked\r\n\r\n0\r\n\r\n": ((400,), -1),
    POST + "Transfer-Encoding: x,\r\n chunked\r\n\r\n0\r\n\r\n": ((200, 200), 1),
    POST + f"Content-Length: {'9' * 5000}\r\n\r\n": ((400,), -1),
    POST + f"Content-Length: {'0' * 5000}3\r\n\r\nabc": ((200, 200), 1),
    POST + "Content-Length: \xb2\r\n\r\nab": ((400,), -1),
    f"GET /a.txt HTTP/1.1\r\nHost: x:{'9' * 5000}\r\n\r\n": ((400,), -1),
    "GET /a.txt HTTP/1.1\r\nHost: x:4294967376\r\n\r\n": ((200, 200), 1),
    f"GET http://x:{'9' * 5000}/a.txt HTTP/1.1\r\nHost: x\r\n\r\n": ((200, 200), 1),
    f"CONNECT x:{'9' * 5000} HTTP/1.1\r\nHost: x\r\n\r\n": ((405, 200), 1),
    "CONNECT x:+80 HTTP/1.1\r\nHost: x\r\n\r\n": ((405, 200), 1),
    f"GET /a.txt HTTP/1.1\r\nHost: x\r\nRange: bytes=0-{'9' * 5000}\r\n\r\n": ((200, 200), 1),
    "GET /page.html HTTP/1.1\r\nHost: x\r\nAccept-Language: de;q=0.\xb2, en;q=0.1\r\n\r\n": ((200, 200), 1),
    "GET /a.txt HTTP/1.1\r\nHost: x\r\nConnection: x;close\r\n\r\n": ((200,), -1),
    "GET /a.txt HTTP/1.1\r\nHost: x\r\nConnection: c\r\n\r\n": ((200,), -1),
    PRIVATE + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nq\r\n": ((400,), -1),
    PRIVATE + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nbad trailer\r\n\r\n": ((400,), -1),
    PRIVATE + f"Content-Length: 100001\r\n\r\n{'a' * 100001}": ((413,), -1),
    PRIVATE + "Content-Length: 100001\r\nExpect: 100-continue\r\n\r\n": ((413,), -1),
    PRIVATE + "Content-Length: 10\r\nExpect: 100-continue\r\n\r\n": ((401,), -1),
    PRIVATE + "Content-Length: 10\r\n\r\nabc": ((401, 400), -1),
    TRACE + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n": ((413,), -1),
    TRACE + "Transfer-Encoding: x, chunked\r\n\r\n0\r\n\r\n": ((501,), -1),
    PRIVATE + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n": ((401, 200), 1),
}


def test_pinned_requests() -> None:
    with ServerProcess(WHIMBREL, HostileSite(wire.CONF.format(options="Strict"), wire.DOCUMENTS)) as server:
        found = {}
        for data in PINNED:
            outcomes = {wire.send(server, data.encode("latin-1")) for _ in range(3)}
            assert len(outcomes) == 1, data[:200]
            found[data] = [(one.statuses, one.sentinel) for one in outcomes][0]
        assert found == PINNED
        assert "Traceback" not in server.output
