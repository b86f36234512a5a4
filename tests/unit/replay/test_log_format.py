"""Formats of access logs.  Lines are those of httpd's manual, or written as httpd writes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.explain.explained_site import side_of

from whimbrel.http.syntax.url import unescape_logitem
from whimbrel.replay.configured_formats import formats_of
from whimbrel.replay.log_format import (
    COMBINED,
    COMMON,
    DEFAULT_FORMATS,
    VHOST_COMBINED,
    LineFormat,
    best_format,
    split_host,
)

FRANK = (
    b'127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326 '
    b'"http://www.example.com/start.html" "Mozilla/4.08 [en] (Win98; I ;Nav)"'
)


def test_combined() -> None:
    logged = LineFormat.compile(COMBINED).parse(FRANK)
    assert logged is not None
    assert logged[:8] == ("GET", "/apache_pb.gif", "HTTP/1.0", "127.0.0.1", "frank", "", 0, 200)
    assert dict(logged.fields) == {
        "User-Agent": "Mozilla/4.08 [en] (Win98; I ;Nav)",
        "Referer": "http://www.example.com/start.html",
    }


def test_host_and_port_of_vhost_combined() -> None:
    logged = LineFormat.compile(VHOST_COMBINED).parse(b"www.example.com:8080 " + FRANK)
    assert logged is not None and (logged.host, logged.port) == ("www.example.com", 8080)


def test_escaped_values() -> None:
    line = rb'::1 - a\"b [10/Oct/2000:13:55:36 -0700] "GET /\xc3\xa4?q=\"x\\y\" HTTP/1.1" 404 -'
    logged = LineFormat.compile(COMMON).parse(line)
    assert logged is not None
    assert (logged.target, logged.user, logged.client) == ('/\xc3\xa4?q="x\\y"', 'a"b', "::1")
    assert unescape_logitem(r"\t\n\\") == "\t\n\\"


def test_requests_in_parts() -> None:
    form = LineFormat.compile('%t %m %U%q %H %>s "%{Host}i" %a')
    logged = form.parse(b'[10/Oct/2000:13:55:36 -0700] POST /a?b=1 HTTP/1.1 201 "h.example:81" 10.0.0.1')
    assert logged is not None
    assert (logged.method, logged.target, logged.host, logged.port) == ("POST", "/a?b=1", "h.example", 81)
    assert logged.status == 201 and logged.client == "10.0.0.1"


def test_lines_without_a_request() -> None:
    form = LineFormat.compile(COMMON)
    assert form.parse(b'10.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "-" 408 -') is None
    assert form.parse(b'10.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "\\x16\\x03\\x01" 400 226') is None
    assert form.parse(b"garbage \xff\x00") is None
    with pytest.raises(ValueError, match="does not contain the request"):
        LineFormat.compile("%h %t %b")


def test_the_first_status_is_the_original_one() -> None:
    logged = LineFormat.compile('%h "%r" %s %>s').parse(b'::1 "GET / HTTP/1.1" 403 200')
    assert logged is not None and logged.status == 200


def test_the_format_that_fits_best_is_chosen() -> None:
    formats = [LineFormat.compile(text) for text in DEFAULT_FORMATS]
    best = best_format(formats, [FRANK, b"x"])
    assert best is not None and best.text == COMBINED
    assert best_format(formats, [b"x"]) is None


def test_hosts() -> None:
    assert split_host("a.example:80") == ("a.example", 80)
    assert split_host("[::1]:8080") == ("[::1]", 8080)
    assert split_host("::1") == ("::1", 0)


TAIL = b' [10/Feb/2012:16:42:07 -0500] "GET / HTTP/1.0" 301 368'


@pytest.mark.parametrize(
    ("begin", "host", "client", "user"),
    [
        (b"www.example.com 1.2.3.4 - theuser", "www.example.com", "1.2.3.4", "theuser"),
        (b"www.example.com 1.2.3.4 - -", "www.example.com", "1.2.3.4", ""),
        (b"www.example.com ::1 - the user", "www.example.com", "::1", "the user"),
        (b"www pc.example.com ident theuser", "www", "pc.example.com", "theuser"),
        (b"www.example.com:80 1.2.3.4 - theuser", "www.example.com", "1.2.3.4", "theuser"),
        (b"1.2.3.4 - theuser", "", "1.2.3.4", "theuser"),
        (b"1.2.3.4 - the user", "", "1.2.3.4", "the user"),
        (b"pc.example.com ident the user", "", "pc.example.com", "the user"),
        (b"localhost - -", "", "localhost", ""),
        (b"- - -", "", "-", ""),
    ],
)
@pytest.mark.parametrize("has_combined", [False, True])
def test_a_virtual_host_in_front(
    begin: bytes, host: str, client: str, user: str, has_combined: bool, tmp_path: Path
) -> None:
    """Whoever wrote the format: a column in front of the client is neither a client nor part of a user."""
    line = begin + TAIL + (b' "-" "Mozilla/5.0 (X11)"' if has_combined else b"")
    form = best_format(formats_of(side_of(tmp_path)), [line])
    assert form is not None
    logged = form.parse(line)
    assert logged is not None and (logged.host, logged.client, logged.user) == (host, client, user)


@pytest.mark.parametrize("begin", [b"a.example 1.2.3.4 - - 0.12", b"7 a.example 1.2.3.4 - - theuser"])
def test_more_columns_than_any_format_has(begin: bytes, tmp_path: Path) -> None:
    assert best_format(formats_of(side_of(tmp_path)), [begin + TAIL]) is None
    assert best_format([LineFormat.compile(COMMON)], [b"a.example 1.2.3.4 - theuser" + TAIL]) is None


def test_the_configured_format_comes_first(tmp_path: Path) -> None:
    """Columns that only the configuration tells apart."""
    side = side_of(
        tmp_path,
        'Listen 80\nLoadModule log_config_module x\nLogFormat "%D %v %h %l %u %t \\"%r\\" %>s %b" x\n',
    )
    line = b"17 a.example 1.2.3.4 - theuser" + TAIL
    form = best_format(formats_of(side), [line])
    logged = form.parse(line) if form is not None else None
    assert logged is not None and (logged.host, logged.user) == ("a.example", "theuser")
