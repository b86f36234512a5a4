"""A site whose responses depend on many things, and exchanges with it: for tests of the response cache."""

from __future__ import annotations

import os
import re
from pathlib import Path

from tests.support.engine import start_engine
from tests.support.site import CONF as CONF_FILE
from tests.support.site import MTIME, load_module_lines, write_files
from whimbrel.engine.cache.entry import CachedResponse
from whimbrel.engine.engine import Engine
from whimbrel.engine.request import Connection
from whimbrel.http.syntax.line_reader import HeadLimits
from whimbrel.testing.client import TestClient
from whimbrel.testing.fake_runtime import FakeRuntime

MODULES = (
    "mpm_event authn_core authn_file auth_basic authz_core authz_host authz_user mime dir setenvif headers "
    "negotiation rewrite alias log_config"
).split()
CONF = """
AddLanguage de .de
AddLanguage en .en
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
URLS = [
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
DOCUMENTS = (
    "index.html a.txt near/a.txt members/a.txt page.txt.de page.txt.en echo.txt set.txt themed.txt dark.txt "
    "asked.txt line.txt both.txt told.txt"
).split()


def write_cache_site(root: Path) -> Path:
    """Lay out `CONF` and its documents; return *root*."""
    files = {f"htdocs/{name}": f"page {name}\n" for name in DOCUMENTS}
    files["conf/users"] = "alice:{SHA}w3QkzGJswDXW5OKZHAJw0FELjfM=\n"
    files["conf/mime.types"] = "text/html html\ntext/plain txt\n"
    files[CONF_FILE] = load_module_lines(MODULES) + CONF.replace("@", str(root))
    write_files(root, files)
    (root / "logs").mkdir()
    for path in root.rglob("*"):
        os.utime(path, (MTIME, MTIME))
    return root


def engine_without_if(root: Path) -> Engine:
    """Return an engine of the same site without the <If> section, which reads every request's query."""
    text, _if, rest = (root / CONF_FILE).read_text().partition("<If ")
    (root / "conf/other.conf").write_text(text + rest.partition("</If>")[2])
    return start_engine(root, "conf/other.conf")


def exchange(
    engine: Engine, path: str, fields: list[str], source: str = "127.0.0.1", method: str = "GET"
) -> tuple[str, list[str]]:
    """Return the response (without its date) and the access-log lines of one request on a new connection."""
    before = len(_access_log(engine))
    client = TestClient(engine, Connection(source, 5000, "127.0.0.1", 8080))
    lines = "".join(f"{field}\r\n" for field in fields if field)
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n"
    response = client.send(head.encode("latin-1")).decode("latin-1")
    logged = [line.decode("latin-1") for line in _access_log(engine)[before:]]
    return re.sub(r"Date: [^\r]*", "Date: -", response), logged


def exchange_uncached(
    engine: Engine, path: str, fields: list[str], source: str = "127.0.0.1", method: str = "GET"
) -> tuple[str, list[str]]:
    """`exchange` with an empty response cache."""
    engine.response_cache.clear()
    return exchange(engine, path, fields, source, method)


def cached_entry(engine: Engine, connection: Connection, head: bytes) -> CachedResponse | None:
    """Return the cache entry that a head gets on *connection*."""
    index = engine.response_cache.index(connection.local_ip, connection.local_port)
    hit = index.lookup(connection, head, HeadLimits(), None)
    return None if hit is None else hit[0]


def _access_log(engine: Engine) -> list[bytes]:
    runtime = engine.runtime
    assert isinstance(runtime, FakeRuntime)
    return next((lines for name, lines in runtime.logs.items() if name.endswith("access_log")), [])
