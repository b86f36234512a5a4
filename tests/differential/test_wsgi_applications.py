"""Small applications beside Debian's apache2 with mod_wsgi: status, fields, body, and lines of the error log.

Each one runs in a daemon process and in embedded mode.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.differential.raw_exchange import Documents, both
from tests.differential.wsgi_applications import APPLICATIONS
from tests.differential.wsgi_pair import lines, needs_mod_wsgi, shown

pytestmark = needs_mod_wsgi

CONF = """LoadModule wsgi_module %MODULES%/mod_wsgi.so
LogLevel warn
WSGIPythonHome /usr
WSGISocketPrefix %BASE%/wsgi
WSGIDaemonProcess site threads=3
WSGIScriptAliasMatch ^/d/([a-z-]+) %ROOT%/apps/$1.wsgi process-group=site application-group=%{GLOBAL}
WSGIScriptAliasMatch ^/e/([a-z-]+) %ROOT%/apps/$1.wsgi application-group=%{GLOBAL}
<Directory %ROOT%/apps>
    Require all granted
</Directory>
<Location /d/chunked>
    WSGIChunkedRequest On
</Location>
"""
POST = "POST {} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 13\r\n\r\nab\ncdef\n\nhijk"
GET = "GET {} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
HEAD = "HEAD {} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"


def requests() -> Iterator[tuple[str, str]]:
    """Yield names and texts of the requests."""
    for name in APPLICATIONS:
        for mode in ("d", "e"):
            form = POST if name.startswith("input") or name == "validated" else GET
            yield f"{mode}/{name}", form.format(f"/{mode}/{name}")
    for name in ("plain", "no-length", "generator", "not-found", "environ", "raise"):
        yield f"d/{name} HEAD", HEAD.format(f"/d/{name}")
    yield "d/environ path", GET.format("/d/environ/a//b%20c?q=%41")
    yield (
        "d/environ fields",
        GET.format("/d/environ").replace(
            "\r\n\r\n", "\r\nAuthorization: Basic YTpi\r\nX-A: b\r\nProxy: c\r\nContent-Type: d\r\n\r\n"
        ),
    )
    yield "d/environ 1.0", "GET /d/environ HTTP/1.0\r\n\r\n"
    yield "d/generator 1.0", "GET /d/generator HTTP/1.0\r\n\r\n"
    yield "d/input-read empty", POST.format("/d/input-read").replace("13", "0").partition("ab\n")[0]
    yield "d/input-read again", POST.format("/d/input-read")
    yield "d/expired-input again", GET.format("/d/expired-input")
    chunked = (
        "POST /d/input-read HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    yield "d/input-read chunked", chunked + "3\r\nabc\r\n0\r\n\r\n"
    yield "d/nothing", GET.format("/d/nothing")
    yield "d/range", GET.format("/d/plain").replace("\r\n\r\n", "\r\nRange: bytes=1-2\r\n\r\n")
    yield "d/condition", GET.format("/d/modified").replace("\r\n\r\n", '\r\nIf-None-Match: "tag"\r\n\r\n')


def test_applications() -> None:
    files = {f"apps/{name}.wsgi": text for name, text in APPLICATIONS.items()}
    found = {}
    count = 0
    with both(CONF, Documents(files)) as (apache, whimbrel):
        for name, text in requests():
            count += 1
            want = shown(apache, text)
            got = shown(whimbrel, text)
            if want != got:
                found[name] = (want, got)
        logged = lines(apache), lines(whimbrel)
    assert count > 200
    assert not found, "\n".join(f"== {name}\n{want}\n-- got\n{got}" for name, (want, got) in found.items())
    assert logged[0] - logged[1] == Counter()
    assert logged[1] - logged[0] == Counter()
    assert logged[0].total() > 300
