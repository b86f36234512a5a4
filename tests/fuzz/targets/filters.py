"""Pages in the hands of output filters: each gets a response, a second time the same one.

mod_reflector sends the body of a request back through the filters of its location; the first byte selects it.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

pytest.importorskip("lxml", reason="the extra html is not installed")

from tests.fuzz import seeds as recorded
from tests.fuzz.targets.requests import MOMENTARY
from tests.support.engine import build_engine
from tests.support.site import load_module_lines
from whimbrel.engine.engine import Engine
from whimbrel.engine.request import Connection
from whimbrel.testing.client import TestClient

COVERED = (
    "modules/filters/mod_include/page.py",
    "modules/filters/mod_include/elements.py",
    "modules/filters/mod_include/variables.py",
    "modules/filters/mod_include/conditions.py",
    "modules/filters/mod_proxy_html/html_filter.py",
    "modules/filters/mod_proxy_html/markup.py",
    "modules/filters/mod_proxy_html/writer.py",
    "modules/filters/mod_substitute/lines.py",
    "modules/filters/mod_substitute/patterns.py",
    "modules/filters/mod_xml2enc.py",
)
TOKENS = (
    b"<!--#",
    b"-->",
    b'<!--#if expr="',
    b'<!--#set var="a" value="',
    b"<!--#echo var='a' -->",
    b"<!--#endif -->",
    b'<!--#include virtual="/a.txt" -->',
    b'<!--#config timefmt="%Y" -->',
    b"$A",
    b"<a href='http://b.test/'>",
    b"<script>",
    b"</script>",
    b"<meta http-equiv=Content-Type content='text/html; charset=latin1'>",
    b"&amp;",
    b"<![CDATA[",
    b"<?xml version='1.0' encoding='x'?>",
    b"<form action=/x>",
    b"style='url(/y)'",
    b"foo",
    b"\n",
    b"\xe9",
)
CHANGED = 60
NAMES = "rewrite include filter deflate substitute sed reflector charset_lite xml2enc proxy_html".split()
FILTERS = (
    "INCLUDES",
    "proxy-html",
    "xml2enc;proxy-html",
    "SUBSTITUTE",
    "Sed",
    "XLATEOUT",
    "INCLUDES;SUBSTITUTE;DEFLATE",
)
CONF = """
SetEnvIf Request_URI . PROXY_HTML_FORCE
ProxyHTMLLinks a href
ProxyHTMLLinks form action
ProxyHTMLEvents onclick
<Directory "@/htdocs">
    Options +IncludesNOEXEC
</Directory>
<Location />
    SetHandler reflector
    ForceType text/html
    SSILegacyExprParser off
    ProxyHTMLURLMap http://b.test/ /b/
    ProxyHTMLURLMap ^/x(.*) /y$1 Rx
    ProxyHTMLExtended on
    ProxyHTMLMeta on
    ProxyHTMLFixups lowercase dospath
    Substitute s|foo|bar|i
    Substitute s/a(.)c/<$1>/q
    OutputSed "s/foo/<&>/g"
    CharsetSourceEnc ISO-8859-1
    CharsetDefault UTF-8
</Location>
<LocationMatch "^/a.txt$">
    SetHandler none
</LocationMatch>
"""
HEAD = b"POST /%d/x HTTP/1.1\r\nHost: a\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%b"


@cache
def engine() -> Engine:
    """Return the engine of the site, whose files the process removes at its end."""
    root = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, root, True)
    places = "".join(
        f"<Location /{number}>\nSetOutputFilter {names}\n</Location>\n"
        for number, names in enumerate(FILTERS)
    )
    return build_engine(root, load_module_lines(NAMES) + CONF + places, {"htdocs/a.txt": "plain\n"})


def seeds() -> Sequence[bytes]:
    pages = recorded.few([*recorded.files("core-ssi", "modules-filters", suffix="html")], 50)
    html = [
        b"<html><head><title>t</title></head><body onclick=x(1)><a href='http://b.test/c'>foo</a>",
        b"<p style='background:url(/x1)'>a&nbsp;b<br/><img src=/x2>"
        b"<script>var u='/x3';</script><!-- c --><pre>\n",
        b'\xef\xbb\xbf<!DOCTYPE html><form action="/x?y=1&z=2"><input value=\'a"b\'></form>\xc3\xa9',
        b"<?xml version='1.0' encoding='iso-8859-2'?><html xmlns='http://www.w3.org/1999/xhtml'/>",
    ]
    odd = [bytes([number]) + page for page in html for number in range(len(FILTERS))]
    return [*odd, *(b"\0" + page for page in pages)]


def run(data: bytes) -> None:
    place = data[0] % len(FILTERS) if data else 0
    message = HEAD % (place, len(data[1:]), data[1:])
    first = _answer(message)
    assert first.startswith(b"HTTP/1.1 ")
    assert _answer(message) == first


def _answer(message: bytes) -> bytes:
    serving = engine()
    serving.runtime.logs.clear()  # type: ignore[attr-defined]
    client = TestClient(serving, Connection("127.0.0.1", 50000, "127.0.0.1", 80))
    return MOMENTARY.sub(b"", client.send(message))
