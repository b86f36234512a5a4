"""Links to push, policies and the diary; expected values are those of mod_http2 in 2.4.71."""

from __future__ import annotations

import sys

import pytest

from whimbrel.http.http2.push import MAX_DIARY, PushDiary, candidates, links, policy, request_fields
from whimbrel.http.semantics.headers import Headers


@pytest.mark.parametrize(
    ("value", "paths"),
    [
        ("<a.css>;rel=preload", ["a.css"]),
        ("<http://localhost/a.css>;rel=preload", ["/a.css"]),
        ("<http://LOCALHOST/a.css>;rel=preload", []),
        ("<https://localhost/a.css>;rel=preload", []),
        ("<//localhost/a.css>;rel=preload", ["/a.css"]),
        ("<http://localhost:80/a.css>;rel=preload", []),
        ("<http://localhost>;rel=preload", []),
        ("<http:/a.css>;rel=preload", ["/a.css"]),
        ("<http://u@localhost/a.css>;rel=preload", []),
        ("<mailto:a>;rel=preload", []),
        ("</a.css#f>;rel=preload", ["/a.css#f"]),
        ('</a.css?x#f>;rel="x preload"', ["/a.css?x#f"]),
        ('</a.css>;rel="preloadx"', []),
        ("</a.css>;REL=preload", ["/a.css"]),
        ("</a.css>;rel=Preload", []),
        ("</a.css>;rel='preload'", []),
        ("</a.css>; rel = preload ;nopush=x", []),
        ("</a.css>;rel=preload;NoPush", []),
        ("</a.css>;rel=x;rel=preload", ["/a.css"]),
        ('</a.css>;rel=preload;as="a,b", </b.js>;rel=preload', ["/a.css", "/b.js"]),
        ("</a.css> ; rel=preload , </b.js>;crossorigin;rel=preload", ["/a.css", "/b.js"]),
        ("</a.css>;rel=preload </b.js>;rel=preload", ["/a.css"]),
        ("</a.css>;rel=preload;x*=y;=,</b.js>;rel=preload", ["/a.css"]),
        ("x</a.css>;rel=preload", []),
        ('</a.css>;rel="preload', ["/a.css"]),
        ("</a b>;rel=preload", ["/a b"]),
        ("<>;rel=preload", []),
        ("<?x>;rel=preload", []),
        ("<*>;rel=preload", ["*"]),
    ],
)
def test_links_of_this_origin_are_pushed(value: str, paths: list[str]) -> None:
    assert [found.path for found in candidates([value], "http", "localhost")] == paths


def test_a_critical_link() -> None:
    (one, other) = candidates(["</a>;rel=preload;critical, </b>;rel=preload"], "http", "localhost")
    assert (one.is_critical, other.is_critical) == (True, False)
    assert list(links("</a>;x=1;y")) == [("/a", {"x": "1", "y": ""})]


def test_links_end_in_linear_time() -> None:
    assert list(links("<a>" + "; " * 50_000)) == [("a", {})]
    assert list(links("<" * 50_000)) == []


@pytest.mark.parametrize(
    ("field", "name"),
    [
        (None, "default"),
        ("none", "none"),
        ("head", "head"),
        ("fast-load", "fast-load"),
        ("x", "default"),
        ("none, head", "head"),
    ],
)
def test_policies(field: str | None, name: str) -> None:
    assert policy(field) == name


def test_fields_of_a_promised_request_keep_their_order() -> None:
    head = Headers([("Accept-Language", "de"), ("Cookie", "a"), ("Host", "h"), ("User-Agent", "u")])
    assert request_fields(head, "h").items() == [
        ("Accept-Language", "de"),
        ("User-Agent", "u"),
        ("Host", "h"),
    ]


@pytest.mark.parametrize(
    ("size", "pushed"),
    [
        (0, ["abc", "at", "abc", "abc"]),
        (1, ["abc", "at", "bc", "abc"]),
        (2, ["abc", "at", "bc", "abc"]),
        (4, ["abc", "t", "", ""]),
    ],
)
def test_the_diary_forgets_the_resource_that_was_named_longest_ago(size: int, pushed: list[str]) -> None:
    diary = PushDiary(size)
    assert [
        "".join([path for path in page if diary.is_new("http", "localhost", f"/{path}")])
        for page in ("abc", "at", "abc", "abc")
    ] == pushed


def test_the_diary_is_bounded_in_bytes() -> None:
    diary = PushDiary(1 << 20)
    for number in range(MAX_DIARY + 1000):
        diary.is_new("http", "localhost", f"/{number}" + "x" * 200)
    assert len(diary) == MAX_DIARY
    entries = diary._seen
    assert sys.getsizeof(entries) + sum(map(sys.getsizeof, entries)) < 4 << 20
    default = PushDiary(256)
    for number in range(1000):
        default.is_new("http", "localhost", f"/{number}")
    assert len(default) == 256
