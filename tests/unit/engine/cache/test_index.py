"""Cached responses found by their key: each mutation of one input, requested twice, gets the response of a
fresh engine.
"""

from __future__ import annotations

import gc
import itertools
import random
import sys
from pathlib import Path

import pytest
from tests.support.cache_site import (
    FIELDS,
    PATHS,
    QUERIES,
    URLS,
    cached_entry,
    engine_without_if,
    exchange,
    exchange_uncached,
    write_cache_site,
)
from tests.support.engine import start_engine
from tests.support.samples import amount
from tests.support.site import MTIME

from whimbrel.engine.cache import index
from whimbrel.engine.cache.index import MAX_SEEN
from whimbrel.engine.deps import key_spec
from whimbrel.engine.engine import Engine
from whimbrel.engine.request import Connection
from whimbrel.engine.specialized import budget
from whimbrel.testing.client import TestClient
from whimbrel.testing.fake_runtime import FakeRuntime


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_cache_site(tmp_path_factory.mktemp("site"))


@pytest.mark.parametrize("path", PATHS)
def test_each_field_alone_gets_its_own_answer(root: Path, path: str) -> None:
    serving = start_engine(root)
    other = start_engine(root)
    fresh = {
        (field, source): exchange_uncached(other, path, [field], source)
        for field in FIELDS
        for source in ("127.0.0.1", "127.0.0.2")
    }
    for _ in range(3):
        for (field, source), expected in fresh.items():
            assert exchange(serving, path, [field], source) == expected, (field, source)


@pytest.mark.parametrize("seed", range(amount(2, 6)))
def test_fields_in_any_company(root: Path, seed: int) -> None:
    """Requests with several fields in random order: no earlier request changes a later response."""
    chance = random.Random(seed)
    serving, other = start_engine(root), start_engine(root)
    for _ in range(100):
        path, method = chance.choice(PATHS), chance.choice(["GET", "GET", "GET", "HEAD"])
        fields = chance.sample(FIELDS, chance.randrange(5))
        assert exchange(serving, path, fields, method=method) == exchange_uncached(
            other, path, fields, method=method
        ), (
            path,
            fields,
        )


@pytest.mark.parametrize("seed", range(amount(2, 6)))
def test_queries_in_any_order(root: Path, seed: int) -> None:
    """Every query gets its own response and its own log line, whether the response depends on the query or
    not.
    """
    chance = random.Random(seed)
    serving, other = start_engine(root), start_engine(root)
    for _ in range(150):
        path, method = (
            chance.choice(URLS) + chance.choice(QUERIES),
            chance.choice(["GET", "GET", "GET", "HEAD"]),
        )
        fields = chance.sample(["Cookie: theme=dark", "X-A: 1", "Accept-Language: de"], chance.randrange(3))
        assert exchange(serving, path, fields, method=method) == exchange_uncached(
            other, path, fields, method=method
        ), (
            path,
            fields,
        )


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/a.txt", True),
        ("/moved/a.txt", True),
        ("/both.txt", True),
        ("/asked.txt", False),
        ("/told.txt", False),
    ],
)
def test_a_query_that_nobody_asked_for_finds_the_kept_answer(root: Path, path: str, found: bool) -> None:
    serving, client = engine_without_if(root), Connection("127.0.0.9", 5000, "127.0.0.1", 8080)
    exchange(serving, path + "?a=1", [])
    head = b"GET %b?other HTTP/1.1\r\nHost: localhost\r\n\r\n" % path.encode()
    assert (cached_entry(serving, client, head) is not None) is found
    for bad in (b"?a b", b"?a\x7f", b"?a\tb", b"?a#b", b"?a\x00b"):
        assert cached_entry(serving, client, head.replace(b"?other", bad)) is None


def test_what_does_not_matter_finds_the_kept_answer(root: Path) -> None:
    serving = start_engine(root)
    exchange(serving, "/a.txt", ["X-B: first", "Cookie: a=1"])
    head = b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\nCookie: a=2\r\nX-C: other\r\n\r\n"
    assert cached_entry(serving, Connection("127.0.0.9", 5000, "127.0.0.1", 8080), head) is not None


def test_what_matters_does_not(root: Path) -> None:
    serving = start_engine(root)
    exchange(serving, "/a.txt", ["User-Agent: Mozilla/5.0"])
    for line in (b"User-Agent: Evil", b"Range: bytes=0-1", b"Host: other", b"Bad Name: x"):
        head = b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\n%b\r\n\r\n" % line
        assert cached_entry(serving, Connection("127.0.0.9", 5000, "127.0.0.1", 8080), head) is None


def test_fields_that_go_with_the_clock(root: Path, tmp_path: Path) -> None:
    """Expires and max-age of a cached response are those of the second in which it is sent."""
    for folder in ("conf", "logs"):
        (tmp_path / folder).mkdir()
    lines = (
        "LoadModule expires_module modules/mod_expires.so\nExpiresActive On\n"
        'ExpiresByType text/plain "access plus 60 seconds"\n'
    )
    text = (root / "conf/httpd.conf").read_text()
    lines += f'ExpiresByType text/html M{2_000_000_000 - MTIME}\nTypesConfig "{root}/conf/mime.types"\n'
    (tmp_path / "conf/httpd.conf").write_text(text + lines)
    serving = start_engine(tmp_path)
    runtime = serving.runtime
    assert isinstance(runtime, FakeRuntime)
    for now, later in (
        (1_700_000_000.0, "Tue, 14 Nov 2023 22:14:20 GMT"),
        (1_700_000_001.5, "Tue, 14 Nov 2023 22:14:21 GMT"),
    ):
        runtime.now = lambda now=now: now  # type: ignore[method-assign,misc]
        for _ in range(2):
            assert f"Cache-Control: max-age=60\r\nExpires: {later}\r\n" in exchange(serving, "/a.txt", [])[0]
            page, _lines = exchange(serving, "/index.html", ["Connection: keep-alive"])
            assert (
                f"Cache-Control: max-age={2_000_000_000 - int(now)}\r\n"
                f"Expires: Wed, 18 May 2033 03:33:20 GMT\r\n" in page
            )
            assert "Keep-Alive: timeout=5, max=100\r\n" in page
    assert (
        b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n"
        in serving.response_cache.index("127.0.0.1", 8080).by_head
    )


def test_heads_that_all_differ_push_nothing_out(root: Path) -> None:
    serving = start_engine(root)
    first = b"GET /dark.txt HTTP/1.1\r\nHost: localhost\r\n\r\n"
    connection = Connection("127.0.0.1", 5000, "127.0.0.1", 8080)
    for _ in range(3):
        exchange(serving, "/dark.txt", [])
    assert first in serving.response_cache.index("127.0.0.1", 8080).by_head
    for number in itertools.islice(itertools.count(), 3 * MAX_SEEN):
        cached_entry(
            serving, connection, b"GET /dark.txt HTTP/1.1\r\nHost: localhost\r\nCookie: n=%d\r\n\r\n" % number
        )
    assert first in serving.response_cache.index("127.0.0.1", 8080).by_head


def entries(serving: Engine) -> int:
    """Return the number of objects in the index."""
    book = serving.response_cache.index("127.0.0.1", 8080)
    cache = serving.response_cache
    specs = cache.specs._specs
    lines = sum(len(spec._classes) for spec in specs.values())
    return sum(map(len, (book.by_head, book.by_key, book._lines, specs, cache.seen))) + lines


def test_nothing_grows_when_every_header_varies(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in (
        (index, "MAX_SEEN"),
        (budget, "MAX_LEARNED"),
        (index, "MAX_ENTRIES"),
        (index, "MAX_HEADS"),
        (index, "MAX_LINES"),
        (key_spec, "MAX_SPECS"),
        (key_spec, "MAX_KNOWN"),
    ):
        monkeypatch.setattr(module, name, 20)
    serving, client = start_engine(root), None
    numbers, sizes, blocks = random.Random(9), [], []
    requests = amount(900, 1800)
    for count in range(requests):
        if count % 50 == 0:
            client = TestClient(serving, Connection("127.0.0.1", 1000 + count, "127.0.0.1", 8080))
        lines = [field.replace("light", str(count)) for field in numbers.sample(FIELDS[1:24], 3)] + [
            f"X-{count}: {count}",
            f"Cookie: c={count}",
        ]
        path = numbers.choice(PATHS) + numbers.choice(("", f"?{count}"))
        head = (
            f"GET {path} HTTP/1.1\r\nHost: h{count % 3}\r\nUser-Agent: a{count}\r\n"
            + "".join(f"{line}\r\n" for line in lines)
            + "\r\n"
        )
        assert client is not None
        client.send(head.encode())
        client.closed, client.buffer = False, b""
        for lines_of in serving.runtime.logs.values():
            lines_of.clear()
        if (count + 1) % (requests // 6) == 0:
            gc.collect()
            sizes.append(entries(serving))
            blocks.append(sys.getallocatedblocks())
    assert max(sizes) < 20 * (7 + 4 * 20 + 20)
    assert max(blocks[3:]) < min(blocks[1:3]) * 1.1 + 20_000
