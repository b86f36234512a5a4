"""xsendfile, rpaf and evasive beside Debian's modules of those names: random requests, equal responses.

The packages: libapache2-mod-xsendfile, libapache2-mod-rpaf, libapache2-mod-evasive.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.differential.exchange import Request, fetch
from tests.differential.raw_exchange import Documents, both, differences, masked
from tests.differential.servers import MODULE_DIR

COUNT = 240
SCRIPT_TIME = 1_500_000_000
CHUNK = re.compile(r"[0-9a-f]+\r\n(.*?)\r\n(?=[0-9a-f]+\r\n)", re.DOTALL)
MIN_EQUAL = 0.98


def require(name: str) -> None:
    """Skip the test where Debian's module is not installed."""
    if not Path(MODULE_DIR, f"mod_{name}.so").exists():
        pytest.skip(f"mod_{name}.so of libapache2-mod-{name.removesuffix('20')} is not installed")


def assert_equal(found: Mapping[str, tuple[str, str]], count: int) -> None:
    """Refuse more differences than the bound allows."""
    assert count >= 200
    assert len(found) <= count * (1 - MIN_EQUAL), dict(list(found.items())[:3])


def unframed(text: str) -> str:
    """Return a response with its length in the place of chunks: which of them frames the output of a script
    depends on how fast it writes.
    """
    head, gap, body = text.partition("\r\n\r\n")
    if "Transfer-Encoding: chunked" in head:
        body = "".join(CHUNK.findall(body))
        head = head.replace("Transfer-Encoding: chunked", f"Content-Length: {len(body)}")
    first, *fields = head.split("\r\n")
    return "\r\n".join([first, *sorted(fields)]) + gap + body


# xsendfile ----------------------------------------------------------------------------------------
SENDFILE = """LoadModule xsendfile_module %MODULES%/mod_xsendfile.so
LoadModule cgi_module %MODULES%/mod_cgi.so
LoadModule rewrite_module %MODULES%/mod_rewrite.so
LoadModule proxy_module %MODULES%/mod_proxy.so
LoadModule proxy_http_module %MODULES%/mod_proxy_http.so
ProxyPass /on/back http://127.0.0.1:%PORT%/off
XSendFilePath %BASE%/htdocs/private
<Directory %BASE%/htdocs>
    Require all granted
    Options +ExecCGI
    AddHandler cgi-script .cgi
    FileETag MTime Size
</Directory>
<Location /on>
    XSendFile On
</Location>
<Location /etag>
    XSendFile On
    XSendFileIgnoreEtag On
    XSendFileIgnoreLastModified On
</Location>
RewriteEngine On
RewriteRule ^/on/rewritten/(.*) /on/s.cgi [PT]
"""
SCRIPT = """#!/bin/sh
echo "Content-Type: ${HTTP_X_KIND:-text/plain}"
[ -n "$HTTP_X_STATUS" ] && echo "Status: $HTTP_X_STATUS"
[ -n "$HTTP_X_NAME" ] && echo "X-Sendfile: $HTTP_X_NAME"
[ -n "$HTTP_X_TAG" ] && echo "ETag: $HTTP_X_TAG"
[ -n "$HTTP_X_TIME" ] && echo "Last-Modified: $HTTP_X_TIME"
[ -n "$HTTP_X_CODING" ] && echo "Content-Encoding: $HTTP_X_CODING"
echo
[ "$REQUEST_METHOD" = HEAD ] || echo "own body"
"""
NAMES = (
    "one.txt",
    "./one.txt",
    "sub/two.txt",
    "sub/../one.txt",
    "sub//two.txt",
    "../private/three.txt",
    "../private/none.txt",
    "three.txt",
    "%BASE%/htdocs/private/three.txt/.",
    "one.txt/",
    "sub",
    "none.txt",
    "one%2Etxt",
    "/etc/hostname",
    "%BASE%/htdocs/private/three.txt",
    "%BASE%/htdocs/private/../private/three.txt",
    "%BASE%/htdocs/private/../on/one.txt",
    "%BASE%/htdocs/private",
    "%BASE%/htdocs/privateer/four.txt",
    "%BASE%/htdocs/on/one.txt",
    "empty.txt",
    "",
)
OLD_DATE, NEW_DATE = "Sat, 01 Jan 2000 00:00:00 GMT", "Fri, 01 Jan 2038 00:00:00 GMT"
CONDITIONS = (
    "",
    "",
    "",
    f"If-Modified-Since: {OLD_DATE}\r\n",
    f"If-Modified-Since: {NEW_DATE}\r\n",
    'If-None-Match: "own"\r\n',
    "If-None-Match: *\r\n",
    'If-Match: "own"\r\n',
    'If-Match: "other"\r\n',
    f"If-Unmodified-Since: {OLD_DATE}\r\n",
    "Range: bytes=2-4\r\n",
    "Range: bytes=0-0,2-3\r\n",
    "Range: bytes=900-\r\n",
)


def sendfile_requests(base: str) -> dict[str, str]:
    """Return random requests by number; *base* is the server root."""
    rng, out = random.Random(5), {}
    for number in range(COUNT):
        directory = rng.choice(("on", "on", "on", "off", "etag", "on/rewritten", "on/back"))
        fields = rng.choice(CONDITIONS)
        name = rng.choice(NAMES).replace("%BASE%", base)
        fields += f"X-Name: {name}\r\n" if name else ""
        for field, value, share in (
            ("X-Tag", '"own"', 0.2),
            ("X-Time", OLD_DATE, 0.2),
            ("X-Status", "404 Not Found", 0.05),
            ("X-Status", "201 Created", 0.05),
            ("X-Coding", "gzip", 0.1),
            ("X-Kind", "text/html", 0.2),
        ):
            if rng.random() < share and f"\n{field}" not in fields:
                fields += f"{field}: {value}\r\n"
        method = rng.choice(("GET", "GET", "GET", "HEAD", "POST"))
        query = rng.choice(("", "", "?a=b"))
        length = "Content-Length: 0\r\n" if method == "POST" else ""
        target = f"/{directory}/x/y" if directory.endswith("rewritten") else f"/{directory}/s.cgi"
        out[f"{number} {method} {target}{query} {fields!r}"] = (
            f"{method} {target}{query} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{fields}{length}\r\n"
        )
    return out


def test_xsendfile() -> None:
    require("xsendfile")
    plain = {f"{place}/one.txt": "the first file\n" for place in ("on", "off", "etag")}
    plain |= {f"{place}/sub/two.txt": "the second file\n" for place in ("on", "off", "etag")}
    plain |= {"private/three.txt": "the third\n" * 4000, "privateer/four.txt": "no\n", "on/empty.txt": ""}
    scripts = {f"{place}/s.cgi": SCRIPT for place in ("on", "off", "etag")}
    with both(SENDFILE, Documents(plain, scripts)) as servers:
        root = servers[0].root
        for place in ("on", "off", "etag"):
            os.utime(root / "htdocs" / place / "s.cgi", (SCRIPT_TIME, SCRIPT_TIME))
        requests = sendfile_requests(str(root))
        assert_equal(differences(servers, requests, unframed), len(requests))


# rpaf ---------------------------------------------------------------------------------------------
ADDRESSES = """LoadModule rpaf_module %MODULES%/mod_rpaf.so
LoadModule cgi_module %MODULES%/mod_cgi.so
LogFormat "%{X-Number}i %h %a %{c}a %v %V" seen
CustomLog %BASE%/seen.%PORT% seen
<Directory %BASE%/htdocs>
    Require all granted
    Options +ExecCGI
    AddHandler cgi-script .cgi
</Directory>
<Location /known>
    Require ip 192.0.2.0/24 2001:db8::/32
</Location>
<VirtualHost *:%PORT%>
    ServerName a
    RPAFenable On
    RPAFsethostname On
    RPAFproxy_ips 127.0.0.1 192.0.2.7 10.0.0.0/8
</VirtualHost>
<VirtualHost *:%PORT%>
    ServerName b
    RPAFenable On
    RPAFproxy_ips 127.0.0.2
</VirtualHost>
<VirtualHost *:%PORT%>
    ServerName c
    RPAFenable On
    RPAFheader X-Real-IP
    RPAFproxy_ips 127.0.0.1
</VirtualHost>
<VirtualHost *:%PORT%>
    ServerName d
</VirtualHost>
"""
ENVIRONMENT = (
    "#!/bin/sh\necho Content-Type: text/plain\necho\nenv | grep -E '^(REMOTE_A|HTTP_|SERVER_N)' | sort\n"
)
CLIENTS = ("192.0.2.1", "192.0.2.7", "127.0.0.1", "10.1.2.3", "2001:db8::1", "203.0.113.9", "junk", "1.2.3")
TARGETS = ("/e.cgi", "/e.cgi", "/known/f.txt", "/f.txt")


def address_requests() -> dict[str, str]:
    """Return random requests of a proxy by number; hosts that end Debian's process are left out."""
    rng, out = random.Random(6), {}
    for number in range(COUNT):
        fields = f"X-Number: {number}\r\n"
        if rng.random() < 0.8:
            clients = rng.sample(CLIENTS, rng.randint(1, 3))
            fields += f"X-Forwarded-For: {rng.choice((', ', ',', ';')).join(clients)}\r\n"
        if rng.random() < 0.2:
            fields += f"X-Real-IP: {rng.choice(CLIENTS)}\r\n"
        if rng.random() < 0.3:
            fields += f"{rng.choice(('X-Forwarded-Host', 'X-Host'))}: {rng.choice('abcde')}\r\n"
        host, target = rng.choice("abcde"), rng.choice(TARGETS)
        out[f"{number} {host} {target} {fields!r}"] = (
            f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{fields}\r\n"
        )
    return out


def test_rpaf() -> None:
    require("rpaf")
    files = Documents({"known/f.txt": "known\n", "f.txt": "all\n"}, {"e.cgi": ENVIRONMENT})
    requests = address_requests()
    with both(ADDRESSES, files) as servers:
        found = differences(servers, requests, unframed)
        logs = [sorted(Path(s.root, f"seen.{s.port}").read_text().splitlines()) for s in servers]
    assert_equal(found, len(requests))
    assert len(logs[0]) == len(requests)
    assert logs[1] == logs[0]


# evasive ------------------------------------------------------------------------------------------
LIMITS = """LoadModule evasive20_module %MODULES%/mod_evasive20.so
ServerLimit 1
StartServers 1
ThreadsPerChild 4
MaxRequestWorkers 4
DOSHashTableSize 100
DOSPageCount 3
DOSSiteCount 12
DOSPageInterval 1000
DOSSiteInterval 1000
DOSBlockingPeriod 1000
DOSLogDir %BASE%/marks.%PORT%
DOSWhitelist 127.0.9.* 127.0.8.1
<Directory %BASE%/htdocs>
    Require all granted
</Directory>
<Location /taken>
    Require all denied
</Location>
"""
SOURCES = ("127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.8.1", "127.0.8.2", "127.0.9.1")


@pytest.mark.parametrize("more", ["", "DOSHTTPResponseCode 429\n"])
def test_evasive(more: str) -> None:
    require("evasive20")
    rng = random.Random(7)
    pages = {f"p{number}.txt": f"page {number}\n" for number in range(6)}
    requests = [
        Request(
            rng.choice((*(f"/{name}" for name in pages), "/none", "/taken", "/p1.txt?query")),
            method=rng.choice(("GET", "GET", "HEAD")),
            source=rng.choice(SOURCES),
        )
        for _ in range(COUNT)
    ]
    with both(LIMITS + more, Documents(pages)) as servers:
        texts = [[masked(fetch(s.port, each), s.port) for each in requests] for s in servers]
    wrong = {str(n): (a, b) for n, (a, b) in enumerate(zip(*texts, strict=True)) if a != b}
    assert_equal(wrong, len(requests))
    refused = [text for text in texts[0] if re.match(r"HTTP/1.1 (403|429)", text)]
    assert 20 < len(refused) < COUNT - 20
