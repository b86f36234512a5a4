"""Requests answered from the cache without a stream get the same responses as with one."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("h2", reason="the optional package h2 is not installed")

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, ResponseReceived, StreamEnded, StreamReset
from tests.performance.site import MTIME, NOW, BenchmarkWorker
from tests.support.fakes import EagerTaskLoop, FakeTransport
from tests.support.samples import amount

from whimbrel.http.http2.protocol import ErrorCode
from whimbrel.server.http1.connection import Http1Connection
from whimbrel.server.http2.cached_responses import CachedResponder

PATHS = [
    "/1k.html",
    "/1k.html?#",
    "/none/#",
    "/list",
    "/list/",
    "/deep/a/b/c/d/1k.html?#",
    "/clock.shtml",
    "*",
    "/big.bin?#",
    "x",
]
FIELDS = [
    ("user-agent", "h2load"),
    ("cookie", "a=#"),
    ("range", "bytes=0-9"),
    ("if-modified-since", "Sun, 13 Sep 2020 12:26:40 GMT"),
    ("te", "gzip"),
    ("connection", "close"),
    ("Bad", "x"),
    ("content-length", "5"),
    ("content-length", "0"),
    ("accept-encoding", "gzip"),
    ("host", "other"),
]
METHODS = ["GET", "GET", "GET", "GET", "HEAD", "OPTIONS", "TRACE", "BREW", "CONNECT"]


class Gathering(FakeTransport):
    """A transport that records everything written."""

    def write(self, data: Any) -> None:
        self.out += bytes(data)


class NeverRepeats(CachedResponder):
    """Passes every request to the engine."""

    def answer_frames(self, data: bytes, at: int, most: int) -> int:
        return at

    def answer(self, number: int, raw: bytes) -> bool:
        return False


class Peer:
    """A client of one connection; *whole*: its requests bypass the cache."""

    def __init__(self, site: BenchmarkWorker, *, whole: bool) -> None:
        self.site, self.whole, self.wire = site, whole, FakeTransport(("192.0.2.7", 40_000))
        self.h2 = H2Connection(
            H2Configuration(
                header_encoding="latin-1", validate_outbound_headers=False, normalize_outbound_headers=False
            )
        )
        self.h2.initiate_connection()
        first = Http1Connection(site.service)
        first.connection_made(self.wire)
        first.data_received(self.h2.data_to_send())
        self.session: Any = self.wire.protocol
        if whole:
            self.session.cached = NeverRepeats(self.session)
        self.ask(
            1, [(":method", "GET"), (":scheme", "http"), (":authority", "localhost"), (":path", "/1k.html")]
        )

    def ask(self, number: int, fields: list[tuple[str, str]]) -> list[tuple[object, ...]]:
        """Return the response to one request, without time-dependent parts."""
        return self.ask_all({number: fields})

    def ask_all(self, requests: dict[int, list[tuple[str, str]]]) -> list[tuple[object, ...]]:
        """Return the responses to requests that arrive together, by number: log lines, then stream after
        stream.
        """
        log: Any = self.site.engine.runtime
        log.logs.clear()
        for number, fields in requests.items():
            self.h2.send_headers(number, fields, end_stream=True)
        self.session.data_received(self.h2.data_to_send())
        for _ in range(4):  # a tick starts a bounded number of requests
            self.site.loop.tick()
        events = self.h2.receive_data(self.wire.out)
        self.wire.out = b""
        back = self.h2.data_to_send()
        if back:
            self.session.data_received(back)
        out: dict[int, list[tuple[object, ...]]] = {number: [] for number in requests}
        for event in events:
            if isinstance(event, ResponseReceived):
                out[event.stream_id].append(("head", *event.headers))
            elif isinstance(event, DataReceived):
                self.h2.acknowledge_received_data(event.flow_controlled_length or 0, event.stream_id)
                out[event.stream_id].append(("data", event.data))
            elif isinstance(event, StreamReset):
                out[event.stream_id].append(("reset", event.error_code))
            elif isinstance(event, StreamEnded):
                out[event.stream_id].append(("end",))
        return [("log", *sorted(lines)) for lines in log.logs.values()] + [
            one for said in out.values() for one in said
        ]


@pytest.fixture
def roots(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, Path]]:
    for module in (
        "whimbrel.server.worker.state",
        "whimbrel.server.worker.accounting",
    ):
        monkeypatch.setattr(f"{module}.time", lambda: NOW)
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        yield Path(one), Path(two)


@pytest.mark.parametrize("seed", range(amount(2, 4)))
def test_requests_get_the_same_answers_with_and_without_a_stream(
    roots: tuple[Path, Path], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance, short, reply = random.Random(seed), [0], CachedResponder._reply

    def counted(self: CachedResponder, *arguments: Any) -> None:
        short[0] += 1
        reply(self, *arguments)

    monkeypatch.setattr(CachedResponder, "_reply", counted)
    sites = [BenchmarkWorker(root) for root in roots]
    for site in sites:
        site.loop = site.service.loop = EagerTaskLoop()  # type: ignore[assignment]
    for root in roots:
        (root / "htdocs/big.bin").write_bytes(b"0123456789" * 3000)
        os.utime(root / "htdocs/big.bin", (MTIME, MTIME))
    peers = [Peer(site, whole=whole) for site, whole in zip(sites, (False, True), strict=True)]
    for number in range(3, 600, 2):
        path, method = chance.choice(PATHS), chance.choice(METHODS)
        pseudo = [(":method", method), (":scheme", "http"), (":authority", "localhost"), (":path", path)]
        if chance.random() < 0.1:
            pseudo.pop(chance.randrange(4))
        fields = [
            (name, value.replace("#", str(number)))
            for name, value in (*pseudo, *chance.sample(FIELDS, chance.randrange(3)))
        ]
        quick, whole = [peer.ask(number, fields) for peer in peers]
        assert _plain(quick, roots) == _plain(whole, roots), fields
        assert quick
    assert short[0] > 10
    assert not sites[0].problems
    assert not sites[1].problems


@pytest.mark.parametrize("seed", range(amount(2, 4)))
def test_requests_that_arrive_together_get_the_same_answers(
    roots: tuple[Path, Path], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance, again, reply, lookup = random.Random(seed), [0], CachedResponder._reply, CachedResponder._lookup

    def replied(self: CachedResponder, *arguments: Any) -> None:
        again[0] += 1
        reply(self, *arguments)

    def looked_up(self: CachedResponder, raw: bytes) -> Any:
        found = lookup(self, raw)
        again[0] -= found is not None
        return found

    monkeypatch.setattr(CachedResponder, "_reply", replied)
    monkeypatch.setattr(CachedResponder, "_lookup", looked_up)
    sites = [BenchmarkWorker(root) for root in roots]
    for site in sites:
        site.loop = site.service.loop = EagerTaskLoop()  # type: ignore[assignment]
    peers = [Peer(site, whole=whole) for site, whole in zip(sites, (False, True), strict=True)]
    number = 3
    for _turn in range(60):
        kinds = [
            [
                (":method", chance.choice(METHODS[:6])),
                (":scheme", "http"),
                (":authority", "localhost"),
                (":path", chance.choice(PATHS[:7])),
                *chance.sample(FIELDS[:4], chance.randrange(2)),
            ]
            for _ in range(chance.randrange(1, 4))
        ]
        requests = {}
        for _ in range(chance.randrange(2, 14)):
            requests[number] = [
                (name, value.replace("#", str(number))) for name, value in chance.choice(kinds)
            ]
            number += 2
        together, whole = [peer.ask_all(requests) for peer in peers]
        logs = [sorted(_plain([one], roots) for one in said if one[0] == "log") for said in (together, whole)]
        assert logs[0] == logs[1], requests
        assert [one for one in together if one[0] != "log"] == [one for one in whole if one[0] != "log"]
        if chance.random() < 0.1:
            for root in roots:
                (root / "htdocs/1k.html").write_bytes(bytes([97 + number % 26]) * 1024)
                os.utime(root / "htdocs/1k.html", (MTIME + number, MTIME + number))
    assert again[0] > 10
    assert not sites[0].problems
    assert not sites[1].problems


def _plain(said: list[tuple[object, ...]], roots: tuple[Path, Path]) -> str:
    """Return the text without directory names, with DATA frames joined."""
    text = "".join(repr(one) for one in said if one[0] != "data") + repr(
        b"".join([bytes(one[1]) for one in said if one[0] == "data"])
    )  # type: ignore[call-overload]
    return text.replace(str(roots[0]), "-").replace(str(roots[1]), "-")


def test_a_cached_response_whose_head_has_become_too_long_is_reset(roots: tuple[Path, Path]) -> None:
    """A number in a head, such as max-age, may grow by a digit; 2.4.71 resets the stream then."""
    site = BenchmarkWorker(roots[0])
    site.loop = site.service.loop = EagerTaskLoop()  # type: ignore[assignment]
    peer = Peer(site, whole=False)
    pseudo = [(":method", "GET"), (":scheme", "http"), (":authority", "localhost"), (":path", "/1k.html")]
    for number in (3, 5):
        assert peer.ask(number, pseudo)[0]
    session: Any = peer.wire.protocol
    session.wire.encoder.limit = 100
    session.wire.encoder.known.clear()
    for number in (7, 9):
        assert peer.ask(number, pseudo)[-1] == ("reset", ErrorCode.PROTOCOL_ERROR)
    assert not session.ended and not site.problems
