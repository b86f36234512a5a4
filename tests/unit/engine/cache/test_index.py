"""Cached responses found by their key: each mutation of one input, requested twice, gets the response of a
fresh engine.
"""

from __future__ import annotations

import gc
import itertools
import os
import random
import re
import sys
from pathlib import Path

import pytest

from whimbrel.base.dialect import V24
from whimbrel.config.load import load
from whimbrel.config.options import LoadOptions
from whimbrel.engine.cache import index, key
from whimbrel.engine.cache.entry import CachedResponse
from whimbrel.engine.cache.index import MAX_ENTRIES
from whimbrel.engine.engine import Engine
from whimbrel.engine.request import Connection
from whimbrel.http.syntax.head import HeadLimits
from whimbrel.modules import ALL
from whimbrel.testing.client import TestClient
from whimbrel.testing.fake_runtime import FakeRuntime

MODULES = (
    "mpm_event authn_core authn_file auth_basic authz_core authz_host authz_user mime dir setenvif headers "
    "negotiation rewrite alias "
    "log_config"
).split()
CONF = """
ServerName localhost
Listen 127.0.0.1:8080
DocumentRoot "@/htdocs"
LogFormat "%h %>s %b %{User-Agent}i %{cookie}i %{agent}e %{Referer}i %r %q %U %f" short
CustomLog logs/access_log short
SetEnvIf User-Agent Evil evil=1
BrowserMatch "^Moz(.*)" agent=$1
<Directory "@">
    AllowOverride All
    Options +MultiViews +FollowSymLinks
    Require all granted
    Header set X-Evil yes env=evil
    Header set X-Lang "expr=%{HTTP:Accept-Language}"
</Directory>
<Directory "@/htdocs/near">
    Require ip 127.0.0.1
    Require env evil
</Directory>
<Directory "@/htdocs/members">
    AuthType Basic
    AuthName Zone
    AuthUserFile conf/users
    Require valid-user
</Directory>
<Location /echo.txt>
    Header echo ^X-
</Location>
<Location /set.txt>
    RequestHeader set X-Own %{agent}e
    Header set X-Seen "expr=%{req:X-Own}"
</Location>
RewriteEngine On
RewriteCond %{HTTP_COOKIE} theme=dark
RewriteRule ^/themed.txt$ /dark.txt
RewriteCond %{QUERY_STRING} theme=dark
RewriteRule ^/asked.txt$ /dark.txt
RewriteCond %{THE_REQUEST} "b=2 "
RewriteRule ^/line.txt$ /dark.txt
RewriteCond %{HTTP_COOKIE} theme=dark
RewriteCond %{QUERY_STRING} a=1
RewriteRule ^/both.txt$ /dark.txt
RewriteRule ^/moved/(.*) /$1
RewriteRule ^/added$ /a.txt?own=1 [QSA]
RewriteRule ^/sent$ /a.txt [R]
Redirect /away http://example.org/
<If "%{QUERY_STRING} =~ /a=1/">
    Header set X-If yes
</If>
<Location /told.txt>
    Header set X-Query "expr=%{QUERY_STRING}"
</Location>
"""
QUERIES = ["", "?", "?a=1", "?b=2", "?theme=dark&b=2", "?a=1&a?b", "?q=%20x", "?a=1#x", "?\xe9", "? x"]
ASKED = [
    "/a.txt",
    "/",
    "/page",
    "/nope",
    "/near",
    "/themed.txt",
    "/asked.txt",
    "/line.txt",
    "/both.txt",
    "/moved/a.txt",
    "/added",
    "/sent",
    "/away/x",
    "/told.txt",
    "/a.txt/more",
    "/%61.txt",
    "//a.txt",
]
FIELDS = [
    "",
    "User-Agent: Evil",
    "User-Agent: Mozilla/5.0",
    "User-Agent: Mozilla/6.0",
    "Cookie: theme=dark",
    "Cookie: theme=light",
    "cookie: theme=dark; a=b",
    "Accept: text/html",
    "Accept: text/plain;q=0.1",
    "Accept-Language: de",
    "Accept-Language: en",
    "Accept-Encoding: gzip",
    "Accept-Encoding: identity",
    "Connection: close",
    "Connection: keep-alive",
    "Range: bytes=0-2",
    "range: bytes=0-2",
    "If-None-Match: *",
    'If-None-Match: "x"',
    "If-Modified-Since: Sun, 13 Sep 2020 12:26:40 GMT",
    "If-Modified-Since: Sun, 13 Sep 2020 12:26:39 GMT",
    'If-Match: "x"',
    'If-Range: "x"',
    "Authorization: Basic YWxpY2U6d29uZGVy",
    "Authorization: Basic YWxpY2U6bm8=",
    "X-A: 1",
    "X-A: 2",
    "X-Own: mine",
    "Expect: 100-continue",
    "Expect: x",
    "Content-Length: 0",
    "Content-Length: x",
    "Transfer-Encoding: x",
    "Host: other",
    "Referer: http://a/",
    "Bad Name: x",
    "Folded: a\r\n b",
    "Upgrade: h2c",
    "Via: 1.1 x",
    "A: \x01",
    "If-Unmodified-Since: Sun, 13 Sep 2020 12:26:39 GMT",
    "User-Agent : Evil",
]
PATHS = [
    "/a.txt",
    "/",
    "/page",
    "/near/a.txt",
    "/members/a.txt",
    "/nope",
    "/echo.txt",
    "/set.txt",
    "/themed.txt",
    "/near",
]
OLD = 1_600_000_000


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("books")
    for name in (
        "index.html",
        "a.txt",
        "near/a.txt",
        "members/a.txt",
        "page.txt.de",
        "page.txt.en",
        "echo.txt",
        "set.txt",
        "themed.txt",
        "dark.txt",
        "asked.txt",
        "line.txt",
        "both.txt",
        "told.txt",
    ):
        path = found / "htdocs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"page {name}\n")
        os.utime(path, (OLD, OLD))
    (found / "conf").mkdir()
    (found / "logs").mkdir()
    (found / "conf/users").write_text("alice:{SHA}w3QkzGJswDXW5OKZHAJw0FELjfM=\n")
    (found / "conf/mime.types").write_text("text/html html\ntext/plain txt\n")
    loads = "".join(f"LoadModule {m}_module modules/mod_{m}.so\n" for m in MODULES)
    (found / "conf/httpd.conf").write_text(
        loads + "AddLanguage de .de\nAddLanguage en .en\n" + CONF.replace("@", str(found))
    )
    for path in found.rglob("*"):
        os.utime(path, (OLD, OLD))
    return found


def engine(root: Path) -> Engine:
    return Engine(load(LoadOptions(server_root=str(root)), ALL, V24), FakeRuntime())


def engine_without_if(root: Path) -> Engine:
    """`engine` of a configuration in which nothing reads the query of every request."""
    text, _if, rest = (root / "conf/httpd.conf").read_text().partition("<If ")
    (root / "conf/other.conf").write_text(text + rest.partition("</If>")[2])
    return Engine(load(LoadOptions(server_root=str(root), file="conf/other.conf"), ALL, V24), FakeRuntime())


def ask(
    serving: Engine, path: str, fields: list[str], source: str = "127.0.0.1", method: str = "GET"
) -> tuple[str, list[str]]:
    """Return response and access-log lines of one request on a new connection, without dates."""
    runtime = serving.runtime
    assert isinstance(runtime, FakeRuntime)
    log = next((lines for name, lines in runtime.logs.items() if name.endswith("access_log")), [])
    before = len(log)
    client = TestClient(serving, Connection(source, 5000, "127.0.0.1", 8080))
    lines = "".join(f"{field}\r\n" for field in fields if field)
    answer = client.send(
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n".encode("latin-1")
    ).decode("latin-1")
    log = next((lines for name, lines in runtime.logs.items() if name.endswith("access_log")), [])
    return re.sub(r"Date: [^\r]*", "Date: -", answer), [line.decode("latin-1") for line in log[before:]]


def kept_for(serving: Engine, connection: Connection, head: bytes) -> CachedResponse | None:
    """Return the cached entry for a head."""
    return serving.response_cache.index(connection.local_ip, connection.local_port).lookup(
        connection, head, HeadLimits(), -1
    )[0]


def unkept(
    serving: Engine, path: str, fields: list[str], source: str = "127.0.0.1", method: str = "GET"
) -> tuple[str, list[str]]:
    """`ask` with an empty cache."""
    serving.response_cache.clear()
    return ask(serving, path, fields, source, method)


@pytest.mark.parametrize("path", PATHS)
def test_each_field_alone_gets_its_own_answer(root: Path, path: str) -> None:
    serving = engine(root)
    other = engine(root)
    fresh = {
        (field, source): unkept(other, path, [field], source)
        for field in FIELDS
        for source in ("127.0.0.1", "127.0.0.2")
    }
    for _ in range(3):
        for (field, source), expected in fresh.items():
            assert ask(serving, path, [field], source) == expected, (field, source)


@pytest.mark.parametrize("seed", range(6))
def test_fields_in_any_company(root: Path, seed: int) -> None:
    """Requests with several fields in random order: no earlier request changes a later response."""
    chance = random.Random(seed)
    serving, other = engine(root), engine(root)
    for _ in range(100):
        path, method = chance.choice(PATHS), chance.choice(["GET", "GET", "GET", "HEAD"])
        fields = chance.sample(FIELDS, chance.randrange(5))
        assert ask(serving, path, fields, method=method) == unkept(other, path, fields, method=method), (
            path,
            fields,
        )


@pytest.mark.parametrize("seed", range(6))
def test_queries_in_any_order(root: Path, seed: int) -> None:
    """Every query gets its own response and its own log line, whether the response depends on the query or
    not.
    """
    chance = random.Random(seed)
    serving, other = engine(root), engine(root)
    for _ in range(150):
        path, method = (
            chance.choice(ASKED) + chance.choice(QUERIES),
            chance.choice(["GET", "GET", "GET", "HEAD"]),
        )
        fields = chance.sample(["Cookie: theme=dark", "X-A: 1", "Accept-Language: de"], chance.randrange(3))
        assert ask(serving, path, fields, method=method) == unkept(other, path, fields, method=method), (
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
    ask(serving, path + "?a=1", [])
    head = b"GET %b?other HTTP/1.1\r\nHost: localhost\r\n\r\n" % path.encode()
    assert (kept_for(serving, client, head) is not None) is found
    for bad in (b"?a b", b"?a\x7f", b"?a\tb", b"?a#b", b"?a\x00b"):
        assert kept_for(serving, client, head.replace(b"?other", bad)) is None


def test_what_does_not_matter_finds_the_kept_answer(root: Path) -> None:
    serving = engine(root)
    ask(serving, "/a.txt", ["X-B: first", "Cookie: a=1"])
    head = b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\nCookie: a=2\r\nX-C: other\r\n\r\n"
    assert kept_for(serving, Connection("127.0.0.9", 5000, "127.0.0.1", 8080), head) is not None


def test_what_matters_does_not(root: Path) -> None:
    serving = engine(root)
    ask(serving, "/a.txt", ["User-Agent: Mozilla/5.0"])
    for line in (b"User-Agent: Evil", b"Range: bytes=0-1", b"Host: other", b"Bad Name: x"):
        head = b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\n%b\r\n\r\n" % line
        assert kept_for(serving, Connection("127.0.0.9", 5000, "127.0.0.1", 8080), head) is None


def test_fields_that_go_with_the_clock(root: Path, tmp_path: Path) -> None:
    """Expires and max-age of a cached response are those of the second in which it is sent."""
    for folder in ("conf", "logs"):
        (tmp_path / folder).mkdir()
    lines = (
        "LoadModule expires_module modules/mod_expires.so\nExpiresActive On\n"
        'ExpiresByType text/plain "access plus 60 seconds"\n'
    )
    text = (root / "conf/httpd.conf").read_text()
    lines += f'ExpiresByType text/html M{2_000_000_000 - OLD}\nTypesConfig "{root}/conf/mime.types"\n'
    (tmp_path / "conf/httpd.conf").write_text(text + lines)
    serving = engine(tmp_path)
    runtime = serving.runtime
    assert isinstance(runtime, FakeRuntime)
    for now, later in (
        (1_700_000_000.0, "Tue, 14 Nov 2023 22:14:20 GMT"),
        (1_700_000_001.5, "Tue, 14 Nov 2023 22:14:21 GMT"),
    ):
        runtime.now = lambda now=now: now  # type: ignore[method-assign,misc]
        for _ in range(2):
            assert f"Cache-Control: max-age=60\r\nExpires: {later}\r\n" in ask(serving, "/a.txt", [])[0]
            page, _lines = ask(serving, "/index.html", ["Connection: keep-alive"])
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
    serving = engine(root)
    first = b"GET /dark.txt HTTP/1.1\r\nHost: localhost\r\n\r\n"
    connection = Connection("127.0.0.1", 5000, "127.0.0.1", 8080)
    for _ in range(3):
        ask(serving, "/dark.txt", [])
    assert first in serving.response_cache.index("127.0.0.1", 8080).by_head
    for number in itertools.islice(itertools.count(), 3 * MAX_ENTRIES):
        kept_for(
            serving, connection, b"GET /dark.txt HTTP/1.1\r\nHost: localhost\r\nCookie: n=%d\r\n\r\n" % number
        )
    assert first in serving.response_cache.index("127.0.0.1", 8080).by_head


def entries(serving: Engine) -> int:
    """Return the number of objects in the index."""
    book = serving.response_cache.index("127.0.0.1", 8080)
    levels = (book.by_head, book._old_by_head, book._young_generation, book._old_generation)
    fields = list(serving.response_cache._sets.values())
    lines = sum(len(f._known) + len(f._irrelevant) for f in fields)
    return (
        sum(map(len, (*levels, book._lines, serving.response_cache._sets, serving.response_cache.seen)))
        + lines
    )


def test_nothing_grows_when_every_header_varies(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in (
        (index, "MAX_ENTRIES"),
        (index, "MAX_LINES"),
        (index, "MAX_SETS"),
        (key, "MAX_KNOWN"),
    ):
        monkeypatch.setattr(module, name, 20)
    serving, client = engine(root), None
    numbers, sizes, blocks = random.Random(9), [], []
    for count in range(1800):
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
        if count % 300 == 299:
            gc.collect()
            sizes.append(entries(serving))
            blocks.append(sys.getallocatedblocks())
    assert max(sizes) < 20 * (7 + 4 * 20 + 20)
    assert max(blocks[3:]) < min(blocks[1:3]) * 1.1 + 20_000
