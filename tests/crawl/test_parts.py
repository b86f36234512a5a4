"""Links, replies, comparison and masks of the crawler."""

from __future__ import annotations

import random

import pytest

pytest.importorskip("lxml", reason="the optional package lxml is not installed")

from tests.crawl.compare import Comparison
from tests.crawl.logs import compare_access
from tests.crawl.pages import Page, crawl, links
from tests.crawl.replies import Framing, Reply, split
from tests.crawl.variants import variants

HEAD = "HTTP/1.1 200 OK\r\nDate: Sun, 22 Nov 2026 20:00:00 GMT\r\nServer: Apache/2.4.71 (Debian)\r\n"
WHIMBREL_HEAD = HEAD.replace("Apache/2.4.71 (Debian)", "Whimbrel/0.1 (Unix)")


def reply(fields: str, body: str = "", method: str = "GET", head: str = HEAD) -> Reply:
    """Return the only reply in some octets."""
    [found] = split(f"{head}{fields}\r\n{body}".encode("latin-1"), (method,))
    return found


def parts(one: Reply, two: Reply, *, is_program: bool = False) -> list[str]:
    """Return the parts that differ, with servers on the ports 11111 and 22222."""
    return [d.part for d in Comparison((11111, 22222)).compare(one, two, is_program=is_program)]


def test_links_of_a_page_and_of_a_style_sheet() -> None:
    page = reply(
        "Content-Type: text/html\r\nContent-Length: 81\r\n", '<a href="b?c#d">x</a><img src=/é.png>'.ljust(81)
    )
    assert list(links("/a/", page)) == ["/a/b?c", "/%C3%A9.png"]
    sheet = reply(
        "Content-Type: text/css\r\nContent-Length: 40\r\n", "@import 'x.css'; p { background:url(y) }"
    )
    assert list(links("/a/", sheet)) == ["/a/x.css", "/a/y"]
    away = reply("Location: http://example.org/\r\nContent-Length: 0\r\n")
    assert list(links("/a/", away)) == []


def test_a_crawl_ends_at_its_limit() -> None:
    page = reply("Content-Type: text/html\r\nContent-Length: 34\r\n", "<a href=/b>b</a><a href=/c>c</a>  ")
    pages = crawl(("/a",), lambda target: target != "/c", lambda _target: page, 5, random.Random(1))
    assert [found.target for found in pages] == ["/a", "/b"]
    pages = crawl(("/a",), lambda _target: True, lambda _target: page, 2, random.Random(1))
    assert len(list(pages)) == 2


def test_replies_on_one_connection() -> None:
    data = b"HTTP/1.1 100 Continue\r\n\r\n"
    data += b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    data += b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHTTP/1.1 404 Not Found\r\n\r\nrest"
    first, second, third = split(data, ("POST", "HEAD", "GET"))
    assert (first.interim, first.body, first.framing) == (("HTTP/1.1 100 Continue",), b"abc", Framing.CHUNKED)
    assert (second.status, second.body, second.framing) == (200, b"", Framing.NONE)
    assert (third.status, third.body, third.framing) == (404, b"rest", Framing.CLOSE)
    assert first.size + second.size + third.size == len(data)


def test_a_reply_that_ends_early() -> None:
    cut = reply("Transfer-Encoding: chunked\r\n", "5\r\nab")
    assert (cut.framing, cut.body) == (Framing.BROKEN, b"ab")
    whole = reply("Transfer-Encoding: chunked\r\n", "5\r\nabcde\r\n0\r\n\r\n")
    assert Comparison((1, 2)).is_cut(cut, whole)
    assert not Comparison((1, 2)).is_cut(whole, whole)


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ("ETag: a\r\nContent-Length: 0\r\n", "ETag: a\r\nContent-Length: 0\r\n", []),
        ("ETag: a\r\nContent-Length: 0\r\n", "ETag: b\r\nContent-Length: 0\r\n", ["etag"]),
        ("ETag: a\r\nContent-Length: 0\r\n", "Content-Length: 0\r\nETag: a\r\n", ["order"]),
        ("Content-Length: 0\r\n", "Content-Length: 0\r\nETag: a\r\n", ["etag"]),
        ("Allow: GET,HEAD\r\nContent-Length: 0\r\n", "Allow: HEAD,GET\r\nContent-Length: 0\r\n", []),
        (
            "Location: http://a:11111/\r\nContent-Length: 0\r\n",
            "Location: http://a:22222/\r\nContent-Length: 0\r\n",
            [],
        ),
        (
            "Expires: Sun, 22 Nov 2026 20:05:00 GMT\r\nContent-Length: 0\r\n",
            "Expires: Sun, 22 Nov 2026 20:05:01 GMT\r\nContent-Length: 0\r\n",
            [],
        ),
        (
            "Expires: Sun, 22 Nov 2026 20:05:00 GMT\r\nContent-Length: 0\r\n",
            "Expires: Sun, 22 Nov 2026 20:09:00 GMT\r\nContent-Length: 0\r\n",
            ["expires"],
        ),
    ],
)
def test_fields_that_differ(ours: str, theirs: str, expected: list[str]) -> None:
    assert parts(reply(ours), reply(theirs, head=WHIMBREL_HEAD)) == expected


def test_fields_and_texts_of_an_application_that_vary() -> None:
    one, two = (reply(f"X-Pid: {n}\r\nContent-Length: 6\r\n", f"at {n}:0") for n in (1, 2))
    assert parts(one, two) == ["x-pid", "body"]
    compare = Comparison((11111, 22222), ((r"at \d", "at CLOCK"),), ("x-pid",)).compare
    assert compare(one, two) == []


def test_the_signature_of_a_page_explains_the_length_of_a_head_response() -> None:
    one = reply("Content-Length: 100\r\n", method="HEAD")
    assert parts(one, reply("Content-Length: 97\r\n", method="HEAD", head=WHIMBREL_HEAD)) == []
    assert parts(one, reply("Content-Length: 96\r\n", method="HEAD", head=WHIMBREL_HEAD)) == [
        "content-length"
    ]


def test_the_framing_of_programs_may_differ() -> None:
    one, two = (
        reply("Content-Length: 3\r\n", "abc"),
        reply("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n0\r\n\r\n"),
    )
    assert parts(one, two) == ["content-length", "transfer-encoding", "framing"]
    assert parts(one, two, is_program=True) == []
    assert parts(one, reply("Content-Length: 3\r\n", "abd"), is_program=True) == ["body"]


def test_access_lines_differ_in_more_than_time_and_size() -> None:
    line = '127.0.0.1 - - [22/Nov/2026:20:00:00 +0000] "GET / HTTP/1.1" 200 {} "-" "crawl/GET"'
    assert list(compare_access((line.format(10), line.format(12)), (10, 12))) == []
    assert [d.part for d in compare_access((line.format(10), line.format(10)), (10, 12))] == ["access %O"]
    assert [d.part for d in compare_access((line, line.replace("200", "404")), (1, 1))] == ["access"]


def test_each_variant_is_one_or_more_complete_requests() -> None:
    page = Page("/a/b.html?c", reply('ETag: "x"\r\nLast-Modified: Sun, 13 Sep 2020 12:26:40 GMT\r\n'))
    found = list(variants(page))
    assert len(found) == len({variant.name for variant in found}) > 60
    assert all(variant.data.count(b"User-Agent: crawl/") == len(variant.methods) for variant in found)
    assert b'If-None-Match: "x"\r\n' in next(v.data for v in found if v.name == "none-match own")
