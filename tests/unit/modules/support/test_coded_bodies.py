"""Cache of compressed bodies: one compression for each content, whoever requests it; its bounds."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.client import decoded_body, fetch
from tests.support.engine import build_engine
from tests.support.worker import WorkerHarness

from whimbrel.engine.connection import Connection
from whimbrel.engine.engine import Engine
from whimbrel.modules.filters.mod_deflate import compress
from whimbrel.modules.support.coded_bodies import (
    ENTRY_COST,
    MAX_BYTES,
    MAX_OUTPUT,
    CodedBodies,
    CodedBody,
)
from whimbrel.testing.client import TestClient

WORDS = "alpha beta gamma delta godwit whimbrel curlew".split()
CONF = """LoadModule deflate_module modules/mod_deflate.so
SetOutputFilter DEFLATE
BrowserMatch ^Mozilla/4 gzip-only-text/html
BrowserMatch ^Mozilla/4\\.0[678] no-gzip
BrowserMatch \\bMSIE !no-gzip !gzip-only-text/html
"""


def text(size: int) -> str:
    return " ".join(random.Random(size).choices(WORDS, k=size // 5))[:size]


FILES = {f"htdocs/{size}.txt": text(size) for size in (200, 5000, 60_000, 200_000, 400_000)}


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The compressors that were made, as a list that grows."""
    made: list[int] = []
    make: Callable[..., Any] = compress.make_compressor

    def counted(*args: Any, **named: Any) -> Any:
        made.append(1)
        return make(*args, **named)

    monkeypatch.setattr(compress, "make_compressor", counted)
    return made


def head(choice: random.Random, path: str, tag: str) -> bytes:
    """Return one of the many spellings of a request that gets the compressed content."""
    codings = ["gzip", "deflate", "br;q=0.9", "*;q=0.1", "gzip;q=0.8", "compress", "GZIP"]
    accepted = choice.choice([", ", ","]).join(choice.sample(codings, 5))
    fields = [
        "Host: localhost",
        f"Accept-Encoding: {accepted}",
        f"User-Agent: agent/{choice.randrange(40)}",
        f"Cookie: session={choice.randrange(10**9)}",
        choice.choice(["Accept: */*", "Accept-Language: de", "DNT: 1"]),
        *choice.choice(
            [[], [], [], [f"If-None-Match: {tag}"], ['If-None-Match: "none"'], ["Range: bytes=0-99"]]
        ),
    ]
    choice.shuffle(fields)
    method = choice.choice(["GET", "GET", "GET", "HEAD"])
    return "\r\n".join([f"{method} {path} HTTP/1.{choice.choice('011')}", *fields, "", ""]).encode()


def test_the_compressor_runs_once_for_each_content(tmp_path: Path, runs: list[int]) -> None:
    """1,000 requests of 100 clients, each with its own spellings, orders, versions, methods, conditions."""
    engine = build_engine(tmp_path, CONF, FILES)
    choice = random.Random(7)
    clients = [Connection(f"127.0.0.{n}", 50000 + n, "127.0.0.1", 80) for n in range(1, 101)]
    paths = [name.removeprefix("htdocs") for name in FILES]
    tags = {path: fetch(engine, path).get("ETag") or "" for path in paths}
    assert runs == []
    for n in range(1000):
        path = choice.choice(paths)
        client = TestClient(engine, clients[n % 100])
        assert client.send(head(choice, path, tags[path])).startswith(b"HTTP/1.1 ")
    assert len(runs) == len(paths)


def test_a_changed_file_is_compressed_anew(tmp_path: Path, runs: list[int]) -> None:
    engine = build_engine(tmp_path, CONF, FILES)
    for words in (text(300), text(400), text(300)):
        (tmp_path / "htdocs/200.txt").write_text(words)
        reply = fetch(engine, "/200.txt", "Accept-Encoding: gzip")
        assert gzip.decompress(reply.body.encode("latin-1")).decode() == words
    assert len(runs) == 2


def build_site(root: Path) -> Engine:
    return build_engine(root, CONF, FILES)


def test_cached_bodies_are_those_of_the_uncached_path(tmp_path: Path) -> None:
    """The same requests in any order, to a warm engine and to fresh ones."""
    warm = build_site(tmp_path / "warm")
    cold = build_site(tmp_path / "cold")

    @settings(max_examples=60, deadline=None)
    @given(
        st.sampled_from([name.removeprefix("htdocs") for name in FILES]),
        st.sampled_from(["GET", "HEAD"]),
        st.sampled_from(["gzip", "gzip, br", "br", "gzip;q=0"]),
        st.sampled_from([(), ("Range: bytes=5-20",), ("User-Agent: Mozilla/4.07",)]),
    )
    def same(path: str, method: str, accepted: str, more: tuple[str, ...]) -> None:
        cold.response_cache.clear()
        cold.plans.root(cold.main).notes.clear()
        replies = [fetch(e, path, f"Accept-Encoding: {accepted}", *more, method=method) for e in (warm, cold)]
        assert replies[0].status == replies[1].status
        names = ("Content-Length", "Transfer-Encoding", "Vary", "Content-Encoding", "Content-Range")
        assert [replies[0].get(n) for n in names] == [replies[1].get(n) for n in names]
        assert decoded_body(replies[0]) == decoded_body(replies[1])

    same()


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, MAX_OUTPUT + 10)), max_size=120))
def test_the_cache_is_bounded(puts: list[tuple[int, int]]) -> None:
    """Neither number nor size of bodies exceeds the bound; the last one that fits is there."""
    bodies = CodedBodies()
    data = bytes(MAX_OUTPUT + 10)
    for number, size in puts:
        entry = CodedBody(data[:size], False, size)
        bodies.put((number,), entry)
        held = list(bodies._bodies.values())
        assert sum(len(each.data) + ENTRY_COST for each in held) == bodies._bytes <= MAX_BYTES
        assert (bodies.get((number,)) is entry) is (size <= MAX_OUTPUT)


@pytest.mark.parametrize(
    ("path", "fields", "status"),
    [
        ("/200.txt", (), 200),
        ("/none", (), 404),
        ("/200.txt", ("If-Modified-Since: Fri, 01 Jan 2021 00:00:00 GMT",), 304),
    ],
)
def test_responses_to_clients_that_accept_gzip_stay_cached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, fields: tuple[str, ...], status: int
) -> None:
    """The engine answers the first requests; the cache all others, whatever the client's spelling."""
    engine = build_engine(tmp_path, CONF, FILES)
    answered: list[int] = []
    answer = engine.answer

    def counted(*args: Any) -> Any:
        answered.append(1)
        return answer(*args)

    monkeypatch.setattr(engine, "answer", counted)
    for n in range(50):
        accepted = ("gzip", "gzip, deflate", "br, gzip")[n % 3]
        reply = fetch(engine, path, f"Accept-Encoding: {accepted}", f"Cookie: {n}", *fields)
        assert reply.status == status
    assert len(answered) <= 2


def test_both_protocols_share_bodies(tmp_path: Path, runs: list[int]) -> None:
    """A compressed body of HTTP/1 is the one of each HTTP/2 stream."""
    pytest.importorskip("hpack", reason="the optional package hpack is not installed")
    from tests.hostile import http2_frames as h2

    load = "LoadModule http2_module modules/mod_http2.so\nProtocols h2c http/1.1\n"
    engine = build_engine(tmp_path, load + CONF, FILES)
    first = fetch(engine, "/5000.txt", "Accept-Encoding: gzip").body.encode("latin-1")
    worker = WorkerHarness(engine)
    connection, transport = worker.connect(("127.0.0.1", 50_000))
    connection.data_received(h2.PREFACE + h2.settings() + h2.window(0, 1 << 20))
    for stream, accepted in ((1, "gzip"), (3, "br, gzip"), (5, "gzip, *;q=0")):
        data = h2.request(stream, ("accept-encoding", accepted), path="/5000.txt")
        transport.protocol.data_received(data)
        worker.loop.tick()
    frames = h2.read_frames(transport.out)
    bodies = [payload for kind, _flags, stream, payload in frames if kind == 0 and stream]
    assert bodies == [first] * 3
    assert worker.problems == []
    assert len(runs) == 1
