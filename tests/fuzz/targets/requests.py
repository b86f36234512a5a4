"""Requests to a site of many modules, in process: each gets a response; a second time, the same one.

The second time it may come from a cache, so both ways of answering are compared.
"""

from __future__ import annotations

import atexit
import re
import shutil
import tempfile
import zlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tests.differential.raw_requests import FRAMING, HEADS, LINES
from tests.fuzz import seeds as recorded
from tests.support.engine import build_engine
from tests.support.site import load_module_lines
from whimbrel.engine.engine import Engine
from whimbrel.engine.request import Connection
from whimbrel.testing.client import TestClient

COVERED = (
    "engine/output/byteranges.py",
    "engine/output/headers.py",
    "engine/pipeline/error.py",
    "engine/pipeline/process.py",
    "engine/pipeline/read.py",
    "engine/walk/directory.py",
    "http/semantics/error_page.py",
    "modules/aaa/mod_auth_basic.py",
    "modules/aaa/mod_auth_digest/decide.py",
    "modules/filters/mod_deflate/gzip_stream.py",
    "modules/core/handler.py",
    "modules/filters/mod_include/elements.py",
    "modules/generators/mod_autoindex/listing.py",
    "modules/mappers/mod_dir.py",
    "modules/mappers/mod_negotiation/choose.py",
    "modules/mappers/mod_rewrite/engine.py",
)
TOKENS = (
    b"GET /",
    b"HEAD /",
    b"POST /",
    b"OPTIONS *",
    b"PROPFIND /dav/",
    b" HTTP/1.1\r\nHost: localhost\r\n",
    b"\r\n\r\n",
    b"Range: bytes=0-1,3-\r\n",
    b"If-None-Match: *\r\n",
    b"If-Modified-Since: Sun, 13 Sep 2020 12:26:40 GMT\r\n",
    b"Accept-Language: de;q=0.5\r\n",
    b"Accept-Encoding: gzip\r\n",
    b"Authorization: Basic dTpw\r\n",
    b"Cookie: s=a=b&c=d\r\n",
    b"a.txt",
    b"page.shtml",
    b"neg",
    b"list/?C=N;O=D",
    b"r/1",
    b"private/",
    b"sub/",
    b"echo",
    b"e/x",
    b"%2e",
    b"..",
    b"//",
    b"Content-Length: 3\r\n",
    b"Depth: 1\r\n",
    b"X-Forwarded-For: 10.0.0.1\r\n",
    b"Expect: 100-continue\r\n",
)
NAMES = (
    "rewrite include negotiation deflate filter auth_basic authn_core authn_file authz_user session "
    "session_cookie speling substitute sed request allowmethods imagemap asis dav dav_fs data reflector "
    "buffer remoteip access_compat actions auth_digest auth_form cern_meta vhost_alias userdir"
).split()
CONF = """
RewriteEngine on
RewriteRule ^/r/(\\d+)$ /a.txt?n=$1 [E=N:$1]
RewriteCond %{QUERY_STRING} ^to=(.+)
RewriteRule ^/r/x /%1 [R,NE]
RewriteCond %{HTTP_COOKIE} s=([^;]+)
RewriteRule ^/r/c /a.txt [CO=t:%1:.a.test]
Alias /list @/htdocs/sub
DirectoryIndex index.html
DirectorySlash on
AddOutputFilter INCLUDES .shtml
AddLanguage de .de
AddLanguage en .en
AddHandler type-map .var
AddHandler imap-file .map
AddHandler send-as-is .asis
ErrorDocument 404 "missing %{REQUEST_URI}"
ErrorDocument 403 /page.shtml
SetEnvIf User-Agent bot no-gzip
Header set X-Env "%{N}e" env=N
Header edit Location ^http: https:
RemoteIPHeader X-Forwarded-For
<Directory "@/htdocs">
    Options +Indexes +Includes +MultiViews +FollowSymLinks
</Directory>
<Location /private>
    AuthType Basic
    AuthName p
    AuthUserFile @/conf/users
    Require valid-user
</Location>
<Location /dav>
    Dav on
    <LimitExcept GET HEAD OPTIONS PROPFIND>
        Require all denied
    </LimitExcept>
</Location>
DavLockDB @/logs/locks
<Location /echo>
    SetHandler reflector
    SetInputFilter DEFLATE
    ReflectorHeader X-A
</Location>
<Location /e>
    <If "%{REQUEST_URI} =~ m#^/e/(.*)#">
        Header set X-E "expr=%{REQUEST_METHOD}$1"
    </If>
    AddOutputFilterByType DEFLATE text/plain
    AddOutputFilterByType SUBSTITUTE text/html
    Substitute s/x/y/
</Location>
<Location /digest>
    AuthType Digest
    AuthName d
    AuthDigestProvider file
    AuthUserFile @/conf/digest
    Require user u
</Location>
<Location /login>
    SetHandler form-login-handler
    AuthType form
    AuthName f
    AuthFormProvider file
    AuthUserFile @/conf/users
    AuthFormLoginRequiredLocation /a.txt
    AuthFormLoginSuccessLocation /index.html
    Session on
    SessionCookieName f path=/
</Location>
<Location /s>
    Session on
    SessionCookieName s path=/
</Location>
"""
FILES = {
    "conf/users": "u:{SHA}UWkHJWIDM7Q0/9sxmFyTw1yrvRE=\n",
    "conf/digest": "u:d:0123456789abcdef0123456789abcdef\n",
    "htdocs/index.html": "<html>front x</html>\n",
    "htdocs/a.txt": "plain a\n" * 20,
    "htdocs/page.shtml": '<!--#if expr="%{QUERY_STRING} =~ /a(.)/" --><!--#echo var="1" --><!--#else -->'
    '<!--#include virtual="/a.txt?$QUERY_STRING_UNESCAPED" --><!--#endif -->'
    '<!--#echo var="REQUEST_URI" -->\n',
    "htdocs/neg.html.en": "english\n",
    "htdocs/neg.html.de": "deutsch\n",
    "htdocs/map.var": "URI: neg.html.en\nContent-Type: text/html\nContent-Language: en\n\n",
    "htdocs/i.map": "default /a.txt\nrect /sub/ 0,0 10,10\ncircle /x 20,20 25,20\n",
    "htdocs/x.asis": "Status: 299 Odd\nX: y\n\nbody\n",
    "htdocs/sub/b.txt": "b\n",
    "htdocs/sub/c.html": "<title>c</title>\n",
    "htdocs/sub/.htaccess": "IndexOptions FancyIndexing\nHeader set X-H a\n",
    "htdocs/private/p.txt": "secret\n",
    "htdocs/dav/d.txt": "d\n",
    "htdocs/e/x": "xx" * 200,
    "htdocs/s/s.txt": "session\n",
}
CHANGED = 60
DIGEST = (
    'Authorization: Digest username="u", realm="d", nonce="x", uri="/digest", response="y", qop=auth, nc=1, '
    'cnonce="z"\r\n'
)
PACKED = zlib.compress(b"packed " * 30, wbits=31)
FORM = b"httpd_username=u&httpd_password=p&httpd_location=%2fx"
MOMENTARY = re.compile(rb"\r\n(?:Date|Last-Modified|Expires|Age): [^\r]*|nonce=\"[^\"]*\"")


@cache
def engine() -> Engine:
    """Return the engine of the site, whose files the process removes at its end."""
    root = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, root, True)
    return build_engine(root, load_module_lines(NAMES) + CONF, FILES)


def seeds() -> Sequence[bytes]:
    lines = [
        f"{request.method} {request.path} HTTP/1.1\r\nHost: localhost\r\n"
        + "".join(f"{name}: {value}\r\n" for name, value in request.headers)
        + "\r\n"
        for request in recorded.requests("core-random", "core-http", "core-path")
    ]
    paths = (
        "/ /a.txt /page.shtml?ab /neg /neg.html /map.var /i.map?3,4 /x.asis /list/?C=S;O=D /private/p.txt "
        "/dav/ /e/x /s/s.txt /r/1 /r/x?to=b /r/c /sub /A.TXT /echo /digest /login /~root/ /a.txt/b /%2e%2e/x"
    )
    ours = [
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n"
        for method, fields in (
            ("GET", "Accept-Encoding: gzip\r\nRange: bytes=0-2,4-5\r\n"),
            ("PROPFIND", "Depth: 1\r\nAuthorization: Basic dTpw\r\n"),
            ("GET", DIGEST),
            ("POST", "Content-Length: 2\r\nCookie: s=a=b; s=c\r\n\r\nab"),
        )
        for path in paths.split()
    ]
    raw = [text.encode("latin-1") for group in (FRAMING, HEADS, LINES) for text in group.values()]
    bodies = [
        b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b"
        % (len(PACKED), PACKED),
        b"POST /login HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        b"Content-Length: %d\r\n\r\n%b" % (len(FORM), FORM),
    ]
    return [
        *bodies,
        *raw,
        *recorded.few([line.encode("latin-1", "replace") for line in lines], 40),
        *(line.encode() for line in ours),
    ]


def run(data: bytes) -> None:
    first = _answer(data)
    assert _answer(data) == first


def _answer(data: bytes) -> bytes:
    serving = engine()
    serving.runtime.logs.clear()  # type: ignore[attr-defined]
    client = TestClient(serving, Connection("127.0.0.1", 50000, "127.0.0.1", 80))
    return MOMENTARY.sub(b"", client.send(data) + client.send(b"", last=True))
