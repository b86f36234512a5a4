"""Paths and URLs: single rules; the recorded cases are in test_url_recorded."""

from __future__ import annotations

import pytest

from whimbrel.http.syntax.target import UriParts, split_target, split_url, unsplit
from whimbrel.http.syntax.url import (
    Slashes,
    construct_url,
    decode_path,
    escape_errorlog_item,
    escape_form,
    escape_html,
    escape_logitem,
    escape_path,
    escape_segment,
    escape_uri,
    getparents,
    normalize,
    unescape,
)


@pytest.mark.parametrize(
    ("path", "slashes", "want"),
    [
        ("/a%20b", Slashes.OFF, ("/a b", 0)),
        ("/a%2fb", Slashes.OFF, ("/a/b", 404)),
        ("/a%2Fb", Slashes.ON, ("/a/b", 0)),
        ("/a%2Fb", Slashes.NO_DECODE, ("/a%2Fb", 0)),
        ("/a%00b", Slashes.ON, ("/a\0b", 404)),
        ("/a%2fb%00", Slashes.NO_DECODE, ("/a%2fb\0", 404)),
        ("/a%zz", Slashes.OFF, ("/a%zz", 400)),
        ("/a%2f%", Slashes.OFF, ("/a/%", 400)),
        ("/%252f", Slashes.OFF, ("/%2f", 0)),
    ],
)
def test_unescape(path, slashes, want):
    assert unescape(path, slashes) == want


@pytest.mark.parametrize(
    ("path", "want"),
    [
        ("/a/./b", "/a/b"),
        ("/a/../b", "/b"),
        ("/a//b", "/a/b"),
        ("/a/.", "/a/"),
        ("/a/b/..", "/a/"),
        ("/..a/b", "/..a/b"),
        ("/%2e/a", "/a"),
        ("/a/%2e%2E/b", "/b"),
        ("/%7Eu", "/~u"),
        ("/a%2fb", "/a%2fb"),
        ("/a/..", "/"),
    ],
)
def test_normalize(path, want):
    assert normalize(path, merge=True, decode_unreserved=True) == (want, True)


def test_above_the_root():
    assert normalize("/../a", merge=True) == ("/a", False)
    assert decode_path("/../a") == ("/a", 400)
    assert decode_path("/d//..//a.txt") == ("/a.txt", 0)
    assert decode_path("/d//..//a.txt", version22=True) == ("/d//a.txt", 0)


@pytest.mark.parametrize(
    ("path", "want"),
    [
        ("/../x", "x"),
        ("/a/../x", "/x"),
        ("/a/..", "/"),
        ("/a/.", "/a/"),
        ("x/../../y", "y"),
        ("/a/./b", "/a/b"),
    ],
)
def test_getparents(path, want):
    assert getparents(path) == want


def test_escapes():
    assert escape_uri("/a b?\xe9%~") == "/a%20b%3f%e9%25~"
    assert (escape_path("a:b/c"), escape_path("/a:b")) == ("./a:b/c", "/a:b")
    assert (escape_segment("a/b"), escape_form("a b&")) == ("a%2fb", "a+b%26")
    assert escape_html('<a href="&">\xe9') == "&lt;a href=&quot;&amp;&quot;&gt;\xe9"
    assert escape_html("\xe9", ascii_only=True) == "&#233;"
    assert escape_logitem('a"\\\t\n\x01\xe9\x7f') == 'a\\"\\\\\\t\\n\\x01\\xe9\\x7f'
    assert escape_errorlog_item('a"\\\n') == 'a"\\\\\\n'


def test_construct_url():
    assert construct_url("http", "h", 80, "/a") == "http://h/a"
    assert construct_url("https", "h", 80, "/a") == "https://h:80/a"


def test_parts():
    want = UriParts("http", "u", "p:q", "h", "81", 81, "/a", "q?r", "f")
    assert split_url("http://u:p:q@h:81/a?q?r#f") == want
    assert unsplit(want) == "http://u:XXXXXXXX@h:81/a?q?r#f"
    assert split_url("http://[::1]:8/") == UriParts("http", None, None, "::1", "8", 8, "/")
    assert split_target("//x//y", "GET") == UriParts(path="/x//y")
    for bad in ("http://h:x/", "http://[::1/", "a:b:c/d", ":x"):
        found = split_url(bad)
        assert found is None or found.scheme == "a", bad
