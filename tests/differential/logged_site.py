"""A site with many kinds of responses, and raw connections to it, for comparisons of log lines."""

from __future__ import annotations

import os
import socket
import struct
import time
from dataclasses import dataclass
from pathlib import Path

from tests.differential.site import MTIME

MODULES = """
actions authn_core authn_file authz_core authz_host authz_user auth_basic alias autoindex cgid deflate dir env
expires filter headers http2 include mime mpm_event negotiation reqtimeout rewrite setenvif status
""".split()
ITEMS = "h l u r >s s b B O I S X k f U q H m R".split()
FORMAT = "|".join(["%{remote}p", *[f"%{item}" for item in ITEMS]])
CONF = """
LogFormat "%FORMAT%" compared
CustomLog "%LOGS%/access_log" compared
LogLevel %LEVEL%
Timeout 5
KeepAliveTimeout 2
RequestReadTimeout header=2 body=2
Protocols h2c http/1.1
ScriptSock "%LOGS%/cgisock"
TypesConfig mime.types
AddHandler cgi-script .cgi
AddOutputFilter INCLUDES .shtml
AddType text/html .shtml
AddHandler type-map .var
AddLanguage en .en
AddLanguage de .de
AcceptPathInfo On
TraceEnable %TRACE%
<Directory />
  AllowOverride None
  Require all granted
</Directory>
<Directory "%ROOT%">
  AllowOverride All
  Options All MultiViews
</Directory>
<Location /denied>
  Require all denied
</Location>
<Location /private>
  AuthType Basic
  AuthName "members"
  AuthUserFile "%BASE%/passwd"
  Require user alice
</Location>
<Location /nofile>
  AuthType Basic
  AuthName "members"
  AuthUserFile "%BASE%/absent"
  Require valid-user
</Location>
<Location /noname>
  AuthType Basic
  Require valid-user
</Location>
<Location /zipped>
  SetOutputFilter DEFLATE
</Location>
<Location /expr>
  Require expr %{REQUEST_METHOD} == 'POST'
</Location>
<Location /badfield>
  Header always set X-Bad "a\x01b"
</Location>
<Location /limited>
  LimitRequestBody 4
</Location>
Alias /zipped "%ROOT%"
Alias /badfield "%ROOT%"
Alias /limited "%ROOT%"
Alias /private "%ROOT%"
Alias /nofile "%ROOT%"
Alias /noname "%ROOT%"
Alias /expr "%ROOT%"
Redirect /moved http://example.org/there
Redirect gone /gone
RedirectMatch 307 ^/temp(.*)$ /a.txt$1
ErrorDocument 410 /gone-page.html
ErrorDocument 403 "denied here"
ErrorDocument 401 /a.html
RewriteEngine On
RewriteRule ^/rewritten/(.*)$ /$1 [E=was:$1]
RewriteRule ^/loop/(.*)$ /dir/$1 [PT]
RewriteRule ^/forbid - [F]
RewriteCond %{HTTP_USER_AGENT} robot
RewriteRule ^/a\\.txt$ - [G]
SetEnvIf Request_URI "^/env" seen=1
<If "%{QUERY_STRING} == 'if'">
  Header set X-If yes
</If>
<Location /server-status>
  SetHandler server-status
</Location>
"""
SCRIPTS = {
    "hello.cgi": "printf 'Content-Type: text/plain\\r\\n\\r\\nhello\\n'",
    "slow.cgi": "printf 'Content-Type: text/plain\\n\\nfirst\\n'; sleep 0.3; printf 'second\\n'",
    "long.cgi": "printf 'Content-Type: text/plain\\n\\n'; head -c 100000 /dev/zero | tr '\\0' x",
    "empty.cgi": "exit 0",
    "noline.cgi": "printf 'Content-Type: text/plain'",
    "nohead.cgi": "printf 'no header here\\n'",
    "status.cgi": "printf 'Status: 404 Nowhere\\nContent-Type: text/plain\\n\\nnothing\\n'",
    "local.cgi": "printf 'Location: /a.txt\\n\\n'",
    "remote.cgi": "printf 'Location: http://example.org/\\n\\n'",
    "length.cgi": "printf 'Content-Type: text/plain\\nContent-Length: 4\\n\\nfour'",
    "complain.cgi": "echo 'trouble here' >&2; printf 'Content-Type: text/plain\\n\\nx\\n'",
    "nph-raw.cgi": "printf 'HTTP/1.0 200 OK\\r\\nContent-Type: text/plain\\r\\n\\r\\nraw\\n'",
    "post.cgi": "printf 'Content-Type: text/plain\\n\\n'; cat",
    "nobody.cgi": "printf 'Status: 204\\n\\n'",
    "bad.cgi": "printf 'Content-Type: text/plain\\nX-Bad: a\\001b\\n\\nhello\\n'",
    "notmodified.cgi": (
        "printf 'Content-Type: text/plain\\nLast-Modified: Sun, 13 Sep 2020 12:26:40 GMT\\n\\nhi\\n'"
    ),
}
DOCUMENTS = {
    "index.html": "front\n",
    "a.txt": "plain a\n",
    "a.html": "<p>a</p>\n",
    "big.txt": "0123456789abcdef\n" * 8000,
    "gone-page.html": "it is gone\n",
    "page.shtml": 'x <!--#echo var="DOCUMENT_NAME" --> <!--#include virtual="/a.txt" -->\n',
    "broken.shtml": 'x <!--#include virtual="/no.txt" --> <!--#if expr="(" --> <!--#flastmod file="no" -->\n',
    "exec.shtml": '<!--#include virtual="/hello.cgi" -->\n',
    "dir/index.html": "dir\n",
    "dir/b.txt": "b\n" * 40,
    "list/one.txt": "1\n",
    "list/two.html": "2\n",
    "noindex/.htaccess": "Options -Indexes\n",
    "noindex/x.txt": "x\n",
    "names/.htaccess": "Options -Indexes\nDirectoryIndex one.html two.html\n",
    "names/x.txt": "x\n",
    "wrong/.htaccess": "NoSuchDirective on\n",
    "wrong/x.txt": "x\n",
    "noscript/plain.txt": "x\n",
    "multi/page.html.en": "english\n",
    "multi/page.html.de": "deutsch\n",
    "multi/map.var": "URI: page.html.en\nContent-Language: en\nContent-Type: text/html\n\n",
    "unreadable.txt": "secret\n",
    "noexec.cgi": "#!/bin/sh\n",
    "badinterp.cgi": "#!/no/such/interpreter\n",
    "closed/x.txt": "x\n",
}
PASSWORDS = "alice:{SHA}kdy94uMKllPDlkpZtDPLJvfffX8=\n"


def write_site(base: Path) -> None:
    """Write documents and scripts below *base*/htdocs, all of the same time."""
    root = base / "htdocs"
    for name, text in DOCUMENTS.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name, text in SCRIPTS.items():
        (root / name).write_text(f"#!/bin/sh\n{text}\n")
    (base / "passwd").write_text(PASSWORDS)
    (base / "mime.types").write_text("text/html html htm\ntext/plain txt\n")
    for path in (base, *sorted(base.rglob("*"), reverse=True)):
        is_script = path.suffix == ".cgi" and path.name != "noexec.cgi"
        os.chmod(path, 0o755 if path.is_dir() or is_script else 0o644)
    os.chmod(root / "unreadable.txt", 0o000)
    os.chmod(root / "closed", 0o700)
    os.symlink("a.txt", root / "link.txt")
    os.symlink("absent", root / "dangling.txt")
    for path in (base, *sorted(base.rglob("*"), reverse=True)):
        os.utime(path, (MTIME, MTIME), follow_symlinks=False)


@dataclass(frozen=True)
class Talk:
    """One connection.

    Attributes:
        sends: what the client sends; before each piece after the first it awaits some response.
        ends: how it ends: "read" to the end of the response, "half" closes its side first,
            "reset" or "close" after the first bytes of a response.
        wait: seconds between the pieces in place of awaiting a response.
    """

    sends: tuple[bytes, ...]
    ends: str = "read"
    wait: float = 0.0


_PORTS: set[int] = set()  # of earlier clients: a line in a log belongs to the connection with its port


def _connected(port: int) -> socket.socket:
    """Return a connection from a port that no earlier one had."""
    while True:
        connection = socket.socket()
        connection.settimeout(10)
        connection.bind(("127.0.0.1", 0))
        own: int = connection.getsockname()[1]
        if own not in _PORTS:
            _PORTS.add(own)
            connection.connect(("127.0.0.1", port))
            return connection
        connection.close()


def run_talk(port: int, talk: Talk) -> tuple[int, bytes]:
    """Hold one connection; return the client's port and what it received."""
    received = []
    with _connected(port) as connection:
        own: int = connection.getsockname()[1]
        if talk.ends == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        for number, piece in enumerate(talk.sends):
            if number and talk.wait:
                time.sleep(talk.wait)
            elif number:
                received.append(connection.recv(65536))
            connection.sendall(piece)
        try:
            if talk.ends == "half":
                connection.shutdown(socket.SHUT_WR)
            if talk.ends in ("reset", "close"):
                received.append(connection.recv(100))
                return own, b""
            while data := connection.recv(65536):
                received.append(data)
        except OSError:
            pass
    return own, b"".join(received)


def get(path: str, *fields: str, method: str = "GET", version: str = "HTTP/1.1", body: bytes = b"") -> Talk:
    """Return a talk of one request on a connection that the response closes."""
    return Talk((head(path, *fields, "Connection: close", method=method, version=version) + body,))


def head(path: str, *fields: str, method: str = "GET", version: str = "HTTP/1.1") -> bytes:
    """Return the bytes of a request's head."""
    lines = [f"{method} {path} {version}", "Host: localhost", *fields, "", ""]
    return "\r\n".join(lines).encode("latin-1")


_ALICE = "Authorization: Basic YWxpY2U6Y3VybGV3"
_WRONG = "Authorization: Basic YWxpY2U6d3Jvbmc="
_BOB = "Authorization: Basic Ym9iOmR1bmxpbg=="
_PATHS = """
/ /a.txt /a.html /big.txt /absent /dir /dir/ /dir/b.txt /list/ /list /noindex/ /names/ /wrong/x.txt /denied
/denied/x /private/a.txt /moved /moved/x?q=1 /gone /gone/x /temp/y /page.shtml /broken.shtml /exec.shtml
/rewritten/a.txt /loop/b.txt /forbid /env/x /a.txt/extra /index.html/ /link.txt /dangling.txt /unreadable.txt
/closed/ /closed/x.txt /multi/page /multi/page.html /multi/map.var /multi/absent /expr/a.txt /badfield/a.txt
/badfield/absent /badfield/hello.cgi /limited/a.txt /zipped/a.txt /zipped/big.txt /zipped/hello.cgi /noname/x
/a%20b /a%2fb /a%00b /%zz /../x /server-status?auto /noexec.cgi /badinterp.cgi /absent.cgi /hello.cgi/path?q
/a.txt?if /%FC%e4 /a%22b%5cc //a.txt /./a.txt
""".split()


def talks() -> dict[str, Talk]:
    """Return all connections by name."""
    out = {f"GET {path}": get(path) for path in _PATHS}
    out |= {f"GET /{name}": get(f"/{name}") for name in SCRIPTS}
    out |= {
        f"{method} {path}": get(path, method=method)
        for method in ("HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "BREW", "CONNECT", "POST")
        for path in ("/a.txt", "/hello.cgi", "/absent", "/dir", "/page.shtml", "/list/")
    }
    old = ("/a.txt", "/hello.cgi", "/dir", "/long.cgi")
    out |= {f"HTTP/1.0 {path}": get(path, version="HTTP/1.0") for path in old}
    out |= _conditional() | _bodies() | _malformed() | _connections()
    return out


def _conditional() -> dict[str, Talk]:
    since = "If-Modified-Since: Sun, 13 Sep 2020 12:26:40 GMT"
    return {
        "304": get("/a.txt", since),
        "304 zipped": get("/zipped/a.txt", since, "Accept-Encoding: gzip"),
        "304 cgi": get("/notmodified.cgi", since),
        "412": get("/a.txt", 'If-Match: "x"'),
        "range": get("/a.txt", "Range: bytes=1-3"),
        "ranges": get("/big.txt", "Range: bytes=1-3,10-20,500-600"),
        "416": get("/a.txt", "Range: bytes=100-"),
        "zipped": get("/zipped/big.txt", "Accept-Encoding: gzip"),
        "zipped small": get("/zipped/a.txt", "Accept-Encoding: gzip"),
        "zipped cgi": get("/zipped/long.cgi", "Accept-Encoding: gzip"),
        "zipped head": get("/zipped/big.txt", "Accept-Encoding: gzip", method="HEAD"),
        "alice": get("/private/a.txt", _ALICE),
        "alice head": get("/private/a.txt", _ALICE, method="HEAD"),
        "wrong": get("/private/a.txt", _WRONG, "Referer: http://example.org/from"),
        "bob": get("/private/a.txt", _BOB),
        "digest to basic": get("/private/a.txt", 'Authorization: Digest username="x"'),
        "bad basic": get("/private/a.txt", "Authorization: Basic %%%"),
        "no file": get("/nofile/a.txt", _ALICE),
        "no name": get("/noname/a.txt", _ALICE),
        "referer": get("/absent", "Referer: http://example.org/a\x01b"),
        "robot": get("/a.txt", "User-Agent: robot"),
        "german": get("/multi/page", "Accept-Language: de"),
        "406": get("/multi/page", "Accept: image/png", "Accept-Language: fr"),
        "twice host": get("/a.txt", "Host: other"),
        "expect": get("/a.txt", "Expect: something"),
    }


def _bodies() -> dict[str, Talk]:
    def post(path: str, *fields: str) -> bytes:
        return head(path, *fields, "Connection: close", method="POST")

    chunks = b"3\r\nabc\r\n5;x=y\r\ndefgh\r\n0\r\nTrailer: t\r\n\r\n"
    chunked = "Transfer-Encoding: chunked"
    return {
        "post": Talk((post("/post.cgi", "Content-Length: 5") + b"abcde",)),
        "post chunked": Talk((post("/post.cgi", chunked) + chunks,)),
        "post 100": Talk((post("/post.cgi", "Content-Length: 5", "Expect: 100-continue"), b"abcde")),
        "post 100 chunked": Talk((post("/post.cgi", chunked, "Expect: 100-continue"), chunks)),
        "post 100 early": Talk((post("/post.cgi", "Content-Length: 5", "Expect: 100-continue") + b"abcde",)),
        "post 100 absent": Talk((post("/absent", "Content-Length: 5", "Expect: 100-continue"),)),
        "post 100 denied": Talk((post("/denied", "Content-Length: 5", "Expect: 100-continue"),)),
        "post static": Talk((post("/a.txt", "Content-Length: 5") + b"abcde",)),
        "post absent": Talk((post("/absent", "Content-Length: 5") + b"abcde",)),
        "post unread": Talk((post("/hello.cgi", "Content-Length: 5") + b"abcde",)),
        "post too long": Talk((post("/limited/post.cgi", "Content-Length: 5") + b"abcde",)),
        "post too long chunked": Talk((post("/limited/post.cgi", chunked) + chunks,)),
        "post short": Talk((post("/post.cgi", "Content-Length: 50") + b"abcde",), "half"),
        "post slow": Talk((post("/post.cgi", "Content-Length: 50") + b"abcde",)),
        "post bad chunk": Talk((post("/post.cgi", chunked) + b"zz\r\nabc\r\n",)),
        "post bad length": Talk((post("/post.cgi", "Content-Length: x") + b"abc",)),
        "post both": Talk((post("/post.cgi", "Content-Length: 3", chunked) + chunks,)),
        "post gzip coding": Talk((post("/post.cgi", "Transfer-Encoding: gzip") + b"abc",)),
        "get body": get("/a.txt", "Content-Length: 3", body=b"abc"),
        "get body cgi": get("/hello.cgi", "Content-Length: 3", body=b"abc"),
    }


def _malformed() -> dict[str, Talk]:
    def raw(data: bytes, ends: str = "read") -> Talk:
        return Talk((data,), ends)

    return {
        "0.9": raw(b"GET /a.txt\r\n"),
        "0.9 absent": raw(b"GET /absent\r\n"),
        "0.9 cgi": raw(b"GET /hello.cgi\r\n"),
        "no host": raw(b"GET /a.txt HTTP/1.1\r\n\r\n"),
        "bad host": raw(b"GET /a.txt HTTP/1.1\r\nHost: a b\r\n\r\n"),
        "bad line": raw(b"GET  /a.txt HTTP/1.1\r\nHost: a\r\n\r\n"),
        "no line": raw(b"xyz\r\n\r\n"),
        "bad version": raw(b"GET / HTTP/3.7\r\nHost: a\r\n\r\n"),
        "bad protocol": raw(b"GET / FTP/1.1\r\nHost: a\r\n\r\n"),
        "bad field": raw(b"GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n"),
        "bad field name": raw(b"GET / HTTP/1.1\r\nHost: a\r\na b: c\r\n\r\n"),
        "empty field name": raw(b"GET / HTTP/1.1\r\nHost: a\r\n: c\r\n\r\n"),
        "blank field": raw(b"GET / HTTP/1.1\r\nHost: a\r\nName : c\r\n\r\n"),
        "ctl field": raw(b"GET / HTTP/1.1\r\nHost: a\r\nName: a\x01c\r\n\r\n"),
        "long line": raw(b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: a\r\n\r\n"),
        "long field": raw(b"GET / HTTP/1.1\r\nHost: a\r\nLong: " + b"a" * 9000 + b"\r\n\r\n"),
        "many fields": raw(b"GET / HTTP/1.1\r\nHost: a\r\n" + b"A: b\r\n" * 110 + b"\r\n"),
        "folded": raw(b"GET / HTTP/1.1\r\nHost: a\r\nA: b\r\n c\r\nConnection: close\r\n\r\n"),
        "tls": raw(b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03abcdefgh\r\n\r\n"),
        "lines first": raw(b"\r\n\r\nGET /a.txt HTTP/1.0\r\n\r\n"),
        "lf only": raw(b"GET /a.txt HTTP/1.0\nHost: a\n\n"),
        "half line": raw(b"GET /a.txt", "half"),
        "half head": raw(b"GET /a.txt HTTP/1.1\r\nHost: a\r\n", "half"),
        "slow line": raw(b"GET /a.txt"),
        "slow head": raw(b"GET /a.txt HTTP/1.1\r\nHost: a\r\n"),
        "nothing": raw(b"", "half"),
        "absolute": get("http://localhost/a.txt"),
        "absolute with password": get("http://user:secret@localhost/a.txt"),
        "star": get("*", method="OPTIONS"),
        "star get": get("*"),
        "fragment": get("/a.txt#x"),
    }


def _connections() -> dict[str, Talk]:
    alive, last = head("/a.txt"), head("/a.txt", "Connection: close")
    upgrade = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__")
    return {
        "keep alive": Talk((alive, head("/hello.cgi"), head("/absent"), last)),
        "pipelined": Talk((alive + head("/hello.cgi") + head("/dir") + last,)),
        "pipelined posts": Talk(
            (
                head("/post.cgi", "Content-Length: 3", method="POST")
                + b"abc"
                + head("/absent", "Content-Length: 3", method="POST")
                + b"abc"
                + last,
            )
        ),
        "keep alive 1.0": Talk(
            (head("/a.txt", "Connection: keep-alive", version="HTTP/1.0"), head("/a.txt", version="HTTP/1.0"))
        ),
        "idle": Talk((alive,)),
        "reset": Talk((head("/big.txt") * 8,), "reset"),
        "reset cgi": Talk((head("/slow.cgi"),), "reset"),
        "close": Talk((head("/a.txt"),), "close"),
        "half": Talk((alive,), "half"),
        "upgrade": Talk((head("/a.txt", *upgrade),), "half"),
        "slow pieces": Talk((last[:20], last[20:]), wait=0.2),
    }
