"""Variants of a request: methods, conditions, ranges, negotiation, versions, spellings of the target."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from email.utils import formatdate, mktime_tz, parsedate_tz

from tests.crawl.pages import ORIGIN, Page

AGENT = "User-Agent: crawl"
_AGENT = re.compile(rb"User-Agent: crawl\S*")
CLOSE = "Connection: close"
EPOCH = 1_600_000_000
FORM = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 7"
OTHER = '"1234-5678"'
COMBINATIONS = 8
MIXED_METHODS = ("GET", "GET", "GET", "HEAD", "HEAD", "OPTIONS")
METHODS = (
    *("GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE", "BREW", "PROPFIND", "get"),
    *("POST", "PATCH"),
)
FIELDS = (
    ("none-match other", f"If-None-Match: {OTHER}"),
    ("none-match *", "If-None-Match: *"),
    ("none-match bad", "If-None-Match: abc"),
    ("match *", "If-Match: *"),
    ("match other", f"If-Match: {OTHER}"),
    ("modified-since bad", "If-Modified-Since: yesterday"),
    ("modified-since future", "If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT"),
    ("unmodified-since old", "If-Unmodified-Since: Sat, 01 Jan 2000 00:00:00 GMT"),
    ("range first", "Range: bytes=0-99"),
    ("range suffix", "Range: bytes=-50"),
    ("range rest", "Range: bytes=10-"),
    ("range many", "Range: bytes=0-9,20-29,-5"),
    ("range overlapping", "Range: bytes=0-9,5-14,0-0"),
    ("range unsatisfiable", "Range: bytes=99999999-"),
    ("range bad", "Range: bytes=9-1"),
    ("range unit", "Range: lines=0-1"),
    ("range if other", f"Range: bytes=0-9\r\nIf-Range: {OTHER}"),
    ("language fr", "Accept-Language: fr"),
    ("language list", "Accept-Language: de-AT, ja;q=0.5, *;q=0.1"),
    ("language none", "Accept-Language: xx"),
    ("accept image", "Accept: image/png"),
    ("accept list", "Accept: text/html;q=0.5, text/*;q=0.3, */*;q=0.1"),
    ("charset", "Accept-Charset: utf-8, iso-8859-1;q=0.5"),
    ("gzip", "Accept-Encoding: gzip"),
    ("gzip again", "Accept-Encoding: gzip"),
    ("gzip range", "Accept-Encoding: gzip\r\nRange: bytes=0-9"),
    ("deflate", "Accept-Encoding: deflate"),
    ("identity 0", "Accept-Encoding: identity;q=0"),
    ("cookie", "Cookie: a=1; b=2"),
    ("referer", "Referer: http://example.org/x"),
    ("authorization", "Authorization: Basic eDp5"),
    ("empty fields", "Accept:\r\nRange:\r\nIf-None-Match:"),
)


@dataclass(frozen=True)
class Variant:
    """Requests on one connection, which ends after them.

    Attributes:
        name: the same for all targets.
        data: octets of the requests.
        methods: method of each request.
    """

    name: str
    data: bytes
    methods: tuple[str, ...]

    @property
    def agent(self) -> str:
        """The name without blanks; repetitions send the same octets."""
        return self.name.removesuffix(" again").replace(" ", "-")

    def renamed(self, agent: str) -> Variant:
        """Return the same requests with another User-Agent."""
        return replace(self, data=_AGENT.sub(f"{AGENT}/{agent}".encode(), self.data))


def request(
    target: str,
    *lines: str,
    method: str = "GET",
    version: str = "HTTP/1.1",
    host: str = "localhost",
    body: str = "",
) -> bytes:
    """Return the octets of one request; *lines* are fields."""
    named = (f"Host: {host}",) if host else ()
    head = "\r\n".join((f"{method} {target} {version}", *named, AGENT, *lines))
    return f"{head}\r\n\r\n{body}".encode("latin-1")


def _single(name: str, target: str, *lines: str, method: str = "GET", **more: str) -> Variant:
    return Variant(name, request(target, *lines, CLOSE, method=method, **more), (method,))


def _conditions(page: Page) -> Iterator[tuple[str, str]]:
    """Yield conditions made of the validators of *page*."""
    tag, date = page.reply.value("etag"), page.reply.value("last-modified")
    parsed = parsedate_tz(date)
    stamp = mktime_tz(parsed) if parsed else EPOCH
    equal, older, newer = (formatdate(stamp + plus, usegmt=True) for plus in (0, -3600, 3600))
    yield "modified-since equal", f"If-Modified-Since: {equal}"
    yield "modified-since older", f"If-Modified-Since: {older}"
    yield "modified-since newer", f"If-Modified-Since: {newer}"
    yield "unmodified-since equal", f"If-Unmodified-Since: {equal}"
    yield "range if date", f"Range: bytes=0-9\r\nIf-Range: {equal}"
    yield "none-match other, since newer", f"If-None-Match: {OTHER}\r\nIf-Modified-Since: {newer}"
    if tag:
        yield "none-match own", f"If-None-Match: {tag}"
        yield "none-match weak", f"If-None-Match: W/{tag.removeprefix('W/')}"
        yield "none-match list", f"If-None-Match: {OTHER}, {tag}"
        yield "match own", f"If-Match: {tag}"
        yield "range if own", f"Range: bytes=0-9\r\nIf-Range: {tag}"
        yield "none-match own gzip", f"If-None-Match: {tag}\r\nAccept-Encoding: gzip"


def _spellings(target: str) -> Iterator[tuple[str, str]]:
    """Yield other spellings of *target*, many of which name another resource or none."""
    path, mark, query = target.partition("?")
    rest = mark + query
    yield "path info", f"{path}/extra/path{rest}"
    yield "double slash", path.replace("/", "//", 2) + rest
    yield "encoded letter", f"{path[:1]}%{ord(path[1]):02x}{path[2:]}{rest}" if len(path) > 1 else path
    yield "encoded slash", f"{path}%2f{rest}"
    yield "encoded nul", f"{path}%00{rest}"
    yield "dot segments", f"{path}/./x/../{rest}"
    yield "upper case", path.upper() + rest
    yield "query", target + ("&x=1" if mark else "?x=1")
    yield "no query", path
    yield "absolute form", f"{ORIGIN}{target}"
    yield "truncated", path[:-1] + rest if len(path) > 2 else path


def _connections(target: str) -> Iterator[Variant]:
    """Yield requests of other versions and hosts, and several on one connection."""
    yield _single("http 1.0", target, version="HTTP/1.0", host="")
    yield _single("http 1.0 host, gzip", target, "Accept-Encoding: gzip", version="HTTP/1.0")
    first = request(target, "Connection: keep-alive", version="HTTP/1.0")
    yield Variant("http 1.0 keep-alive", first + request(target, version="HTTP/1.0"), ("GET", "GET"))
    first = request(target) + request(target, method="HEAD") + request(target, "Accept-Encoding: gzip")
    yield Variant("keep-alive", first + request(target, CLOSE), ("GET", "HEAD", "GET", "GET"))
    yield _single("no host", target, host="")
    yield _single("other host", target, host="other.example")
    yield _single("host with port", target, host="LOCALHOST:8080")
    yield _single("bad host", target, host="a b")
    yield _single("expect", target, FORM, "Expect: 100-continue", method="POST", body="a=1&b=2")
    yield _single(
        "chunked post", target, "Transfer-Encoding: chunked", method="POST", body="3\r\na=1\r\n0\r\n\r\n"
    )
    yield _single("get with body", target, FORM, body="a=1&b=2")
    yield _single("http 2.0", target, version="HTTP/2.0")


def _combinations(page: Page, chance: random.Random) -> Iterator[Variant]:
    """Yield random combinations of fields, spellings and methods."""
    fields = [*_conditions(page), *FIELDS]
    spellings = [page.target] * 3 + [spelling for _, spelling in _spellings(page.target)]
    for number in range(1, COMBINATIONS + 1):
        lines = [line for _, line in chance.sample(fields, chance.choice((2, 2, 3, 4)))]
        target, version = chance.choice(spellings), chance.choice(("HTTP/1.1", "HTTP/1.1", "HTTP/1.0"))
        yield _single(
            f"combination {number}", target, *lines, method=chance.choice(MIXED_METHODS), version=version
        )


def variants(page: Page, seed: int = 1) -> Iterator[Variant]:
    """Yield all variants of *page*, its plain request first; User-Agent has the name of the variant."""
    combined = _combinations(page, random.Random(f"{seed} {page.target}"))
    for variant in (*_variants(page), *combined):
        yield variant.renamed(variant.agent)


def _variants(page: Page) -> Iterator[Variant]:
    target = page.target
    yield _single("GET", target)
    for method in METHODS[1:]:
        if method in ("POST", "PATCH", "PUT"):
            yield _single(method, target, FORM, method=method, body="a=1&b=2")
        else:
            yield _single(method, target, method=method)
    for name, line in (*_conditions(page), *FIELDS):
        yield _single(name, target, line)
    for name, line in (("gzip", "Accept-Encoding: gzip"), ("range", "Range: bytes=0-9")):
        yield _single(f"HEAD {name}", target, line, method="HEAD")
    for name, spelling in _spellings(target):
        yield _single(name, spelling)
    yield from _connections(target)
    yield _single("GET again", target)
