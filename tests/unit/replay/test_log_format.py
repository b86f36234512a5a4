"""Formats of access logs.  Lines are those of httpd's manual, or written as httpd writes them."""

from __future__ import annotations

import pytest

from whimbrel.http.syntax.url import unescape_logitem
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
