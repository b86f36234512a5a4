"""Small applications beside Debian's apache2 with mod_wsgi: status, fields, body, and lines of the error log.

Each one runs in a daemon process and in embedded mode.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.differential.raw_exchange import Documents, both, exchange, masked
from tests.differential.servers import MODULE_DIR
from tests.differential.site import ServerProcess
from tests.differential.wsgi_applications import APPLICATIONS

PYTHON = Path("/usr/bin/python3")
pytestmark = pytest.mark.skipif(
    not Path(MODULE_DIR, "mod_wsgi.so").exists() or not PYTHON.exists(),
    reason="mod_wsgi.so of libapache2-mod-wsgi-py3 is not installed",
)

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
LINE = re.compile(r"\[wsgi:(?:error|warn)\] \[pid \d+:tid \d+\] (\[(?:client|remote) )?")
ADDRESS = re.compile(r"^127\.0\.0\.1:\d+\] ")
PID = re.compile(r"(?<=pid=)\d+")
OBJECT = re.compile(r"0x[0-9a-f]+")
NUMBER = re.compile(r"(?<=PORT=')\d+(?=')")
# What may differ, with the reason. Keys are names of applications behind the mode.
REASONS: dict[str, str] = {}


def requests() -> Iterator[tuple[str, str]]:
    """Yield names and texts of the requests."""
    for name in APPLICATIONS:
        for mode in ("d", "e"):
            form = POST if name.startswith("input") or name == "validated" else GET
            yield f"{mode}/{name}", form.format(f"/{mode}/{name}")
    for name in ("plain", "no-length", "generator", "not-found", "environ", "raise"):
        yield f"d/{name} HEAD", HEAD.format(f"/d/{name}")
    yield "d/environ path", GET.format("/d/environ/a//b%20c?q=%41")
    yield "d/environ fields", GET.format("/d/environ").replace(
        "\r\n\r\n", "\r\nAuthorization: Basic YTpi\r\nX-A: b\r\nProxy: c\r\nContent-Type: d\r\n\r\n"
    )
    yield "d/environ 1.0", "GET /d/environ HTTP/1.0\r\n\r\n"
    yield "d/generator 1.0", "GET /d/generator HTTP/1.0\r\n\r\n"
    yield "d/input-read empty", POST.format("/d/input-read").replace("13", "0").partition("ab\n")[0]
    yield "d/input-read again", POST.format("/d/input-read")
    yield "d/expired-input again", GET.format("/d/expired-input")
    chunked = "POST /d/input-read HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    yield "d/input-read chunked", chunked + "3\r\nabc\r\n0\r\n\r\n"
    yield "d/nothing", GET.format("/d/nothing")
    yield "d/range", GET.format("/d/plain").replace("\r\n\r\n", "\r\nRange: bytes=1-2\r\n\r\n")
    yield "d/condition", GET.format("/d/modified").replace("\r\n\r\n", '\r\nIf-None-Match: "tag"\r\n\r\n')


def joined(reply: str) -> str:
    """Return a reply with its chunks joined, since their sizes depend on time; <cut> stands for a missing end."""
    head, gap, body = reply.partition("\r\n\r\n")
    if "Transfer-Encoding: chunked" not in head:
        return reply
    out = ""
    while body:
        size, _, body = body.partition("\r\n")
        if not int(size, 16):
            return head + gap + out
        out += body[: int(size, 16)]
        body = body[int(size, 16) + 2 :]
    return f"{head}{gap}{out}<cut>"


def shown(server: ServerProcess, text: str) -> str:
    """Return the reply to a request without what differs between servers."""
    reply = joined(masked(exchange(server.port, text.encode("latin-1")), server.port))
    return NUMBER.sub("N", OBJECT.sub("0x", reply)).replace(str(server.logs), "LOGS")


def lines(server: ServerProcess) -> Counter[str]:
    """Return the lines of the error log that mod_wsgi writes, with the number of each."""
    out: Counter[str] = Counter()
    for line in (server.logs / "error_log").read_text("latin-1").splitlines():
        match = LINE.search(line)
        if match is not None:
            kind = match[1] or ""
            text = PID.sub("N", ADDRESS.sub("", line[match.end() :]))
            out[kind + OBJECT.sub("0x", text)] += 1
    return out


def test_applications() -> None:
    files = {f"apps/{name}.wsgi": text for name, text in APPLICATIONS.items()}
    found = {}
    count = 0
    with both(CONF, Documents(files)) as (apache, whimbrel):
        for name, text in requests():
            count += 1
            want = shown(apache, text)
            got = shown(whimbrel, text)
            if want != got and name not in REASONS:
                found[name] = (want, got)
        logged = lines(apache), lines(whimbrel)
    assert count > 200
    assert not found, "\n".join(f"== {name}\n{want}\n-- got\n{got}" for name, (want, got) in found.items())
    assert logged[0] - logged[1] == Counter()
    assert logged[1] - logged[0] == Counter()
    assert logged[0].total() > 300
