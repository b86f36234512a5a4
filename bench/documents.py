"""The document root that all servers share, and the requests of the cases."""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from bench import php, wsgi

USER, PASSWORD = "bench", "curlew"
HASH = "$apr1$wHiMbReL$IsCG8LSLZ6oGsVOJ/oUK0."
# "myPassword" of the manual (misc/password_encryptions)
BCRYPT = "$2y$05$c4WoMPo3SXsafkva.HHa6uXQZWr7oboPiC2bT/r7q1BB8I2s0BRqC"
FILES = {
    "1k.html": 1024,
    "100k.html": 100 * 1024,
    "10m.bin": 10 * 1024 * 1024,
    "private/1k.html": 1024,
    "sealed/1k.html": 1024,
    "deep/a/b/c/d/1k.html": 1024,
}
CGI = '#!/bin/sh\nIFS= read -r line\nprintf "Content-Type: text/plain\\r\\n\\r\\n%s" "$line"\n'
SSI = (
    '<html><!--#set var="a" value="b" --><!--#if expr="v(\'a\') == \'b\'" -->'
    '<!--#include virtual="/1k.html" --><!--#endif --></html>\n'
)
CACHEABLE = """#!/bin/sh
printf "Content-Type: text/html\\r\\nCache-Control: max-age=86400\\r\\n\\r\\n%1024s" x
"""
MEMBERS = 1000  # of the collection of PROPFIND
PROPERTIES = (
    '<propfind xmlns="DAV:"><prop><getcontentlength/><getlastmodified/><resourcetype/><getetag/></prop>'
    "</propfind>"
)
ALL_PROPERTIES = '<propfind xmlns="DAV:"><allprop/></propfind>'
ALL = ("whimbrel", "apache", "nginx")
EVERY = (*ALL, "granian")
HTTPD = ("whimbrel", "apache")
FORM = "name=whimbrel&place=mudflat&month=4"
# Fields of a browser.
BROWSER = {
    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
    "Accept-Language": "en-US,en;q=0.5",
    "Accept-Encoding": "gzip, deflate, br",
    "DNT": "1",
    "Sec-Fetch-Dest": "document",
    "Sec-Fetch-Mode": "navigate",
    "Upgrade-Insecure-Requests": "1",
}


GZIP = {"Accept-Encoding": "gzip"}
PAGES = 3000  # with 100 KB each they exceed every cache of a server
PAGE = 100 * 1024


@dataclass(frozen=True)
class Case:
    """One request, repeated. Every response must have *status*, and *length* bytes unless that is None or an
    error.

    Attributes:
        site: the configuration (bench/configs.py) that answers
        servers: names of the servers that support the case
        varied: every request has a cookie of its own
        visitors: every request comes from another client
        fresh: the URL ends in this text and a number, so that no URL repeats
        pages: number of documents below the path that are requested in turn: more than any cache holds
        method, body: of a request that is not a GET
        http2: sent by h2load
        replay: the requests are those of an access log (bench/replay.py)
        half: names of the servers whose latency is measured at half of full load
        grows: the cost grows in httpd with the configuration or with the work of each request
    """

    name: str
    path: str
    status: int = 200
    length: int | None = None
    connections: int = 32
    headers: dict[str, str] = field(default_factory=dict)
    site: str = "plain"
    servers: tuple[str, ...] = ALL
    varied: bool = False
    visitors: bool = False
    fresh: str = ""
    pages: int = 0
    method: str = "GET"
    body: str = ""
    http2: bool = False
    replay: bool = False
    half: tuple[str, ...] = HTTPD
    grows: str = ""


def basic(user: str = USER, password: str = PASSWORD) -> str:
    """Return the Authorization value of a user."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


CONNECTIONS = (1, 4, 8, 256)  # numbers of connections beside that of most rows

_CASES = (
    Case("1k", "/1k.html", length=1024, servers=EVERY, half=ALL),
    Case("1k-varied", "/1k.html", length=1024, headers=BROWSER, varied=True, servers=EVERY),
    Case("100k", "/100k.html", length=100 * 1024, servers=EVERY, half=ALL),
    Case("10m", "/10m.bin", length=10 * 1024 * 1024, connections=8, servers=EVERY),
    Case("404", "/no/such/page.html", status=404, servers=EVERY, half=ALL),
    Case(
        "304",
        "/1k.html",
        status=304,
        length=0,
        headers={"If-Modified-Since": "Sun, 13 Sep 2020 12:26:40 GMT"},
    ),
    Case("redirect", "/list", status=301),
    Case("index", "/list/", servers=HTTPD),
    Case("auth", "/private/1k.html", length=1024, headers={"Authorization": basic()}, grows="hashes"),
    Case(
        "auth-bcrypt",
        "/sealed/1k.html",
        length=1024,
        headers={"Authorization": basic("myName", "myPassword")},
        servers=HTTPD,
        grows="hashes",
    ),
    Case("ssi", "/page.shtml", length=1024 + len("<html></html>\n"), servers=HTTPD),
    Case("server-status", "/server-status", servers=HTTPD),
    Case("1k-fresh", "/1k.html", length=1024, fresh="?q=", servers=EVERY),
    Case("404-fresh", "/no/such/page", status=404, fresh="-", servers=EVERY),
    Case(
        "cgi-post",
        "/cgi/echo",
        length=len(FORM),
        headers={"Content-Type": "application/x-www-form-urlencoded"},
        method="POST",
        body=FORM,
        site="cgi",
        servers=HTTPD,
    ),
    Case("php-fpm", "/page.php", length=php.LENGTH, site="php-fpm", servers=HTTPD),
    Case("wordpress", "/2026/11/a-post/", headers=BROWSER, site="wordpress", servers=HTTPD),
    *(
        Case(
            name,
            path,
            length=length,
            connections=connections,
            headers=headers,
            varied=bool(headers),
            site="wsgi",
            servers=(*HTTPD, *wsgi.NAMES),
            half=(),
        )
        for name, path, length, connections, headers in (
            ("wsgi-hello", "/hello", wsgi.LENGTH, 32, {}),
            ("wsgi-varied", "/hello", wsgi.LENGTH, 32, BROWSER),
            ("wsgi-1m", "/stream", wsgi.STREAM_LENGTH, 8, {}),
        )
    ),
    Case(
        "visitors",
        "/1k.html",
        length=1024,
        headers=BROWSER | {"Connection": "keep-alive"},
        visitors=True,
        site="defaults",
        half=ALL,
    ),
    Case("replay", "/", site="replay", replay=True, half=ALL),
    Case(
        "htaccess",
        "/deep/a/b/c/d/1k.html",
        length=1024,
        site="htaccess",
        servers=HTTPD,
        grows=".htaccess",
    ),
    Case("10k-networks", "/1k.html", length=1024, site="networks", grows="networks"),
    Case(
        "10k-hosts",
        "/1k.html",
        length=1024,
        site="hosts",
        headers={"Host": "h9999.example.org"},
        grows="hosts",
    ),
    Case("1k-sections", "/1k.html", length=1024, site="sections", servers=HTTPD),
    Case("1k-rules", "/old999.html", length=1024, site="rules", servers=HTTPD, grows="rules"),
    Case("1k-redirects", "/gone999.html", status=301, site="redirects", servers=HTTPD, grows="rules"),
    Case("1k-gzip", "/1k.html", headers=GZIP, site="gzip"),
    Case("404-gzip", "/no/such/page.html", status=404, headers=GZIP, site="gzip"),
    Case(
        "304-gzip",
        "/1k.html",
        status=304,
        length=0,
        headers=GZIP | {"If-Modified-Since": "Sun, 13 Sep 2020 12:26:40 GMT"},
        site="gzip",
    ),
    Case(
        "visitors-gzip",
        "/1k.html",
        headers=BROWSER | {"Connection": "keep-alive"},
        visitors=True,
        site="gzip",
    ),
    Case("deflate", "/pages/page-0.html", headers=GZIP, site="gzip", half=ALL),
    Case("deflate-fresh", "/pages/page-0.html", headers=GZIP, site="gzip", pages=PAGES),
    Case("substitute", "/pages/page-0.html", site="substitute", servers=HTTPD),
    Case("substitute-fresh", "/pages/page-0.html", site="substitute", servers=HTTPD, pages=PAGES),
    Case("cache-hit", "/cgi/page", length=1024, site="cache", servers=HTTPD),
    Case(
        "cache-hit-handler",
        "/cgi/page",
        length=1024,
        headers={"Host": "handler.example.org"},
        site="cache",
        servers=HTTPD,
    ),
    *(
        Case(
            name,
            "/dav/",
            status=207,
            connections=4,
            headers={"Depth": "1"},
            method="PROPFIND",
            body=body,
            site="dav",
            servers=HTTPD,
            half=(),
        )
        for name, body in (("propfind", PROPERTIES), ("propfind-all", ALL_PROPERTIES))
    ),
    Case("proxy", "/1k.html", length=1024, site="proxy", half=ALL),
    Case("proxy-10m", "/10m.bin", length=10 * 1024 * 1024, connections=8, site="proxy"),
    Case("h2c", "/1k.html", length=1024, site="http2", http2=True, servers=HTTPD),
    Case("tls-1k", "/1k.html", length=1024, site="tls", servers=ALL, half=()),
    Case("tls-h2", "/1k.html", length=1024, site="tls", http2=True, servers=HTTPD, half=()),
    Case("tls-10m", "/10m.bin", length=10 * 1024 * 1024, connections=8, site="tls", servers=ALL, half=()),
    Case(
        "tls-handshake",
        "/1k.html",
        length=1024,
        headers={"Connection": "close"},
        site="tls",
        servers=ALL,
        half=(),
    ),
)
# the same with few and with many connections
_OTHER_LOADS = tuple(
    replace(case, name=f"{case.name}-c{count}", connections=count, half=())
    for case in _CASES
    if case.name in {"1k", "visitors", "replay"}
    for count in CONNECTIONS
)
CASES = (*_CASES, *_OTHER_LOADS)
BY_NAME = {case.name: case for case in CASES}


def write_pages(root: Path, count: int) -> None:
    """Write *count* pages of words below *root*, of which no two are equal."""
    random = Random(1)
    words = ["".join(random.choices("aabcdeeeghiilmnoorsttuw", k=random.randint(2, 9))) for _ in range(2000)]
    lines = [f'<p class="text">{" ".join(random.choices(words, k=12))}.</p>\n' for _ in range(4000)]
    (root / "htdocs" / "pages").mkdir(parents=True, exist_ok=True)
    for number in range(count):
        begin = number * 13 % len(lines)
        text = f"<h1>{number}</h1>\n" + "".join(lines[begin:] + lines[:begin])
        (root / "htdocs" / "pages" / f"page-{number}.html").write_text(text[:PAGE])


def write_documents(root: Path, pages: int = 1) -> None:
    """Write documents, *pages* pages, password files and log directories, readable by the servers' user."""
    write_pages(root, pages)
    for name, size in FILES.items():
        path = root / "htdocs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((b"The whimbrel migrates without a stop.\n" * (size // 38 + 1))[:size])
    (root / "htdocs" / "page.shtml").write_text(SSI)
    (root / "htdocs" / "list").mkdir()
    for number in range(40):
        (root / "htdocs" / "list" / f"document-{number:02}.html").write_text("<title>x</title>")
    (root / "htdocs" / "page.php").write_text(php.PAGE)
    (root / "wordpress").mkdir()
    (root / "wordpress" / "index.php").write_text(php.FRONT)
    (root / "wordpress" / ".htaccess").write_text(php.FRONT_RULES)
    wsgi.write_application(root)
    (root / "cgi").mkdir()
    for name, script in (("echo", CGI), ("page", CACHEABLE)):
        (root / "cgi" / name).write_text(script)
        (root / "cgi" / name).chmod(0o755)
    (root / "htdocs" / "dav").mkdir()
    for number in range(MEMBERS):
        (root / "htdocs" / "dav" / f"document-{number:03}.html").write_text("x" * number)
    directory = root / "htdocs" / "deep"
    for name in ("", "a", "b", "c", "d"):
        directory = directory / name
        (directory / ".htaccess").write_text(
            f"AddType text/html .html\nSetEnv LEVEL_{name} yes\n"
            "<Files *.secret>\nRequire all denied\n</Files>\n"
        )
    (root / "passwd").write_text(f"{USER}:{HASH}\n")
    (root / "passwd-bcrypt").write_text(f"myName:{BCRYPT}\n")
    for path in root.rglob("*"):
        os.utime(path, (1_600_000_000, 1_600_000_000))
    for folder in (root, *(p for p in root.rglob("*") if p.is_dir())):
        os.chmod(folder, 0o755)
