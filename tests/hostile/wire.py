"""Odd requests followed by a sentinel, compared with apache2: both must agree where a request ends.

Each case is sent three times, so that Whimbrel responds from its caches too. The sentinel requests a document
with a unique name; the position of its response shows where the first request ends.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from tests.differential.raw_requests import FRAMING, HEADS, LINES
from tests.hostile.measure import Budget, Measure, Result
from tests.hostile.server import APACHE, WHIMBREL, Server, Site, read_until_closed

SENTINEL: Final = b"GET /sentinel.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
MARK: Final = b"the sentinel\n"
STATUS: Final = re.compile(rb"HTTP/1\.[01] (\d{3}) ")
AT_ONE_TIME: Final = 8
PATIENCE: Final = 20.0  # seconds; a server that waits for more closes after Timeout
CONF: Final = """HttpProtocolOptions {options}
Timeout 2
KeepAliveTimeout 1
LogLevel crit
RewriteEngine on
RewriteRule ^/r/(.*) /a.txt?$1
Redirect /moved /a.txt
AddLanguage en .en
AddLanguage de .de
LimitRequestBody 100000
<Directory "%ROOT%/htdocs">
Options +MultiViews
</Directory>
<Location /denied>
Require all denied
</Location>
<Location /private>
AuthType Basic
AuthName p
AuthUserFile "%ROOT%/none"
Require valid-user
</Location>
"""
DOCUMENTS: Final = {
    "index.html": b"front\n",
    "a.txt": b"plain a\n",
    "sentinel.txt": MARK,
    "page.html.en": b"english\n",
    "page.html.de": b"deutsch\n",
    "e.cgi": b"#!/bin/sh\necho Content-Type: text/plain\necho\nwc -c\n",
    "denied/a.txt": b"no\n",
    "private/a.txt": b"no\n",
    "d/a.txt": b"d\n",
}
BIG: Final = "9" * 5000
METHODS: Final = (
    "GET",
    "GET",
    "GET",
    "POST",
    "HEAD",
    "PUT",
    "OPTIONS",
    "TRACE",
    "DELETE",
    "get",
    "G@T",
    "X",
    "",
    "CONNECT",
    "A" * 70,
)
TARGETS: Final = (
    "/a.txt",
    "/a.txt",
    "/e.cgi",
    "/nope",
    "/denied/a.txt",
    "/private/a.txt",
    "/moved",
    "/page.html",
    "/",
    "/d",
    "/r/x",
    "*",
    "a.txt",
    "",
    "//a.txt",
    "/a.txt?x=1",
    "/a%20b",
    "/%zz",
    "/a%00",
    "/a%2fb",
    "/./a.txt",
    "/d/../a.txt",
    "/../a.txt",
    "/a.txt#f",
    "/\xe9",
    "/a\x01",
    "/a\\b",
    "http://localhost/a.txt",
    "http://other/a.txt",
    f"http://localhost:{BIG}/a.txt",
    "http://localhost:4294967376/a.txt",
    "http://localhost:8x/",
    "http://[::1]/a.txt",
    "http://[::1/",
    "http://u:p@localhost/",
    "https://localhost/a.txt",
    "ftp://localhost/a.txt",
    "localhost:80",
    f"localhost:{BIG}",
    "x:+80",
    ":80",
    "/" + "a" * 8200,
)
VERSIONS: Final = (
    "HTTP/1.1",
    "HTTP/1.1",
    "HTTP/1.1",
    "HTTP/1.1",
    "HTTP/1.0",
    "HTTP/1.2",
    "HTTP/2.0",
    "HTTP/0.9",
    "http/1.1",
    "HTTP/1.11",
    "HTTP/11",
    "HTTP/1.1 ",
    "HTTP/01.1",
    "HTTP/1.1\t",
    "HTTP/1.\xb2",
    "",
)
GAPS: Final = (" ", " ", " ", " ", " ", " ", "  ", "\t", "\x0b", "\xa0", "")
ENDS: Final = ("\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\n", "\r\r\n", "\r", " \r\n", "\x85\r\n")
HOSTS: Final = (
    "Host: localhost",
    "Host: localhost",
    "Host: localhost",
    "Host: localhost",
    "host:localhost",
    "Host:",
    "Host: a b",
    "Host: a/b",
    f"Host: x:{BIG}",
    "Host: x:0",
    "Host: x:65536",
    "Host: x:4294967376",
    "Host: x:\xb2",
    "Host: [::1]",
    "Host: [::1",
    "Host: \xe9",
    "Host : localhost",
    "Host: 1.2.3",
    "Host: 123",
    "Host: a..b",
    "Host: a,b",
    "X: y",
    "Host: localhost\r\nHost: localhost",
    "Host: a_b",
    "Host: a.",
    "Host: localhost:",
)
FIELDS: Final = (
    "Connection: close",
    "Connection: keep-alive",
    "Connection: keep-alive, close",
    "Connection: close\xa0",
    "Keep-Alive: 5",
    "Expect: 100-continue",
    "Expect: 100-Continue",
    "Expect: x",
    "Expect:",
    "Range: bytes=0-2",
    f"Range: bytes=0-{BIG}",
    f"Range: bytes={BIG}-",
    "Range: bytes=\xb2-",
    "Range: bytes=-0",
    "Range: bytes=1-0",
    "Range: bytes=0-0,-1",
    "Range: bytes =0-1",
    "Accept-Language: de;q=0.\xb2, en;q=0.1",
    f"Accept-Language: de;q={BIG}",
    "Accept: text/html;level=\xb2",
    "If-None-Match: *",
    "If-Match: x",
    "If-Modified-Since: \xb2",
    "If-Modified-Since: Sun, 13 Sep 2020 12:26:40 GMT",
    "If-Unmodified-Since: x",
    "Upgrade: h2c",
    "Upgrade: foo",
    "TE: trailers",
    "X-A: \x01",
    "X-A: \x7f",
    "X-A: \x00",
    "X-A: a\rb",
    "X\xe9: y",
    "X A: y",
    ": y",
    "no colon",
    "X-A:",
    " folded",
    "\tfolded",
    " ",
    "X-A: 1\r\n two",
    "X-A: 1\r\n\ttwo",
    "Content_Length: 3",
    "Content-Length : 3",
    "Transfer-Encoding : chunked",
    "Cookie: \xe9=\xff",
    "Authorization: Basic x",
    "Referer: \x80",
    "X-Long: " + "y" * 8180,
    "X-Longer: " + "y" * 8300,
    "Content-Encoding: gzip",
    "Trailer: X",
    "X-A: \x85",
    "\x85X: y",
    "X-A\xa0: y",
)
LENGTHS: Final = (
    "3",
    "3",
    "0",
    "00003",
    "3 ",
    "+3",
    "-1",
    "0x3",
    "3.0",
    "",
    " ",
    f"{BIG}",
    "0" * 5000 + "3",
    "3, 3",
    "3\r\nContent-Length: 3",
    "3\r\nContent-Length: 4",
    "\xb2",
    "3\xa0",
    "3\x85",
    "1_0",
    "18446744073709551619",
    "9223372036854775808",
    "3\x0b",
    "100001",
)
CODINGS: Final = (
    "chunked",
    "chunked",
    "chunked",
    "Chunked",
    "x, chunked",
    "x chunked",
    "chunked,\tchunked",
    "chunked, chunked",
    "chunked, identity",
    "identity",
    "gzip",
    "",
    "\x0bchunked",
    "chunked\x0b",
    "x,chunked",
    "x,\r\n chunked",
    "x\r\n chunked",
    "chunked\r\nTransfer-Encoding: chunked",
    "chunked;x",
    "\xa0chunked",
    "chunked\r\nContent-Length: 3",
    "xchunked",
    "chunked\t",
    '"chunked"',
)
CHUNKS: Final = (
    "3\r\nabc\r\n0\r\n\r\n",
    "3\r\nabc\r\n0\r\n\r\n",
    "0\r\n\r\n",
    "3\nabc\n0\n\n",
    "3 \r\nabc\r\n0\r\n\r\n",
    " 3\r\nabc\r\n0\r\n\r\n",
    "3;x\r\nabc\r\n0\r\n\r\n",
    '3;x="\r\n"\r\nabc\r\n0\r\n\r\n',
    "-3\r\nabc\r\n0\r\n\r\n",
    "0x3\r\nabc\r\n0\r\n\r\n",
    "zz\r\nabc\r\n0\r\n\r\n",
    "\xb2\r\nabc\r\n0\r\n\r\n",
    "+3\r\nabc\r\n0\r\n\r\n",
    "ffffffffffffffff1\r\nabc\r\n0\r\n\r\n",
    "7fffffffffffffff\r\nabc\r\n0\r\n\r\n",
    "2\r\nabc\r\n0\r\n\r\n",
    "5\r\nabc\r\n0\r\n\r\n",
    "3\r\nabc0\r\n\r\n",
    "3\r\nabc\r\n",
    "3\r\nabc\r\n0\r\nT: u\r\n\r\n",
    "3\r\nabc\r\n0\r\nbad trailer\r\n\r\n",
    "3\r\nabc\r\n0\r\n folded\r\n\r\n",
    "3\r\nabc\r\n0\r\nT: u\r\n folded\r\n\r\n",
    "3\r\nabc\r\n00000\r\n\r\n",
    "3\r\nabc\r\n0;x\r\n\r\n",
    "0000000000000000000000003\r\nabc\r\n0\r\n\r\n",
    "3\r\nabc\r\n0\r\nContent-Length: 9\r\n\r\n",
    "3\r\nabc\n0\r\n\r\n",
    "\r\n",
    "",
    "3\x85\r\nabc\r\n0\r\n\r\n",
    "3\t\r\nabc\r\n0\r\n\r\n",
    "3           \r\nabc\r\n0\r\n\r\n",
    "3\rabc\r\n0\r\n\r\n",
    "186a1\r\n" + "a" * 100001 + "\r\n0\r\n\r\n",
)
NAMED: Final = tuple(text.encode("latin-1") for group in (FRAMING, HEADS, LINES) for text in group.values())
PIECES: Final = tuple(
    text.encode("latin-1")
    for text in (
        *FIELDS,
        *ENDS,
        *GAPS,
        "Content-Length: 3",
        "Transfer-Encoding: chunked",
        "\0",
        ":",
        ",",
        ";",
        "\xb2",
        "\x85",
        BIG,
    )
)


def _composed(chance: random.Random) -> bytes:
    """Return a request by the grammar: mostly regular, with one or two oddities."""
    pick, gap = chance.choice, (lambda: chance.choice(GAPS))
    odd = chance.random
    lines = [f"{pick(METHODS)}{gap()}{pick(TARGETS)}{gap()}{pick(VERSIONS)}", pick(HOSTS)]
    if odd() < 0.6:
        lines = [f"{pick(METHODS[:6])} {pick(TARGETS[:13])} HTTP/1.{pick('1111110')}", pick(HOSTS[:5])]
    lines += [pick(FIELDS) for _ in range(pick((0, 0, 1, 1, 2, 4)))]
    body, kind = "", pick("ncctttbb")
    if kind in "cb":
        lines.append(f"Content-Length: {pick(LENGTHS)}")
        body = "abc"
    if kind in "tb":
        lines.append(f"Transfer-Encoding: {pick(CODINGS)}")
        body = pick(CHUNKS)
    if odd() < 0.3:
        first, rest = lines[0], lines[1:]
        chance.shuffle(rest)
        lines = [first, *rest]
    end = pick(ENDS) if odd() < 0.2 else "\r\n"
    text = "".join(line + (pick(ENDS) if odd() < 0.05 else "\r\n") for line in lines) + end + body
    return (pick(("", "\r\n", "\n", "\r\n\r\n", " ", "\0")) if odd() < 0.1 else "").encode(
        "latin-1"
    ) + text.encode("latin-1")


def _mutated(chance: random.Random) -> bytes:
    """Return a request of `raw_requests` with one to three changes."""
    data = chance.choice(NAMED)
    for _ in range(chance.randint(1, 3)):
        at = chance.randint(0, len(data))
        end = min(len(data), at + chance.choice((0, 1, 1, 5)))
        data = data[:at] + chance.choice(PIECES) + data[end:]
    return data


def cases(chance: random.Random) -> Iterator[bytes]:
    """Yield odd requests endlessly; those of `raw_requests` first."""
    yield from NAMED
    while True:
        yield _composed(chance) if chance.random() < 0.75 else _mutated(chance)


@dataclass(frozen=True)
class Outcome:
    """Result of one exchange.

    Attributes:
        statuses: statuses of all responses
        sentinel: position of the sentinel's response, -1 without one
        closed: the server closed within the time
    """

    statuses: tuple[int, ...]
    sentinel: int
    closed: bool

    def __str__(self) -> str:
        return (
            f"{' '.join(map(str, self.statuses)) or 'nothing'}, sentinel "
            f"{self.sentinel}{'' if self.closed else ', left open'}"
        )


def send(server: Server, data: bytes) -> Outcome:
    """Send *data* and the sentinel in one write, and read until the server closes."""
    with server.connect(PATIENCE) as wire:
        try:
            wire.sendall(data + SENTINEL)
        except OSError:
            pass
        out, closed = read_until_closed(wire, time.monotonic() + PATIENCE)
    # TRACE echoes requests and an error page may quote them: a response head is at the start or after a body.
    heads = [
        found
        for found in STATUS.finditer(out)
        if found.start() == 0 or out[found.start() - 1 : found.start()] == b"\n"
    ]
    at = out.rfind(MARK)
    sentinel = -1 if at < 0 else sum(found.start() < at for found in heads) - 1
    return Outcome(tuple(int(found[1]) for found in heads), sentinel, closed)


@dataclass(frozen=True)
class Explanation:
    """Accepted difference in status: *applies* to a request and both outcomes.

    It never excuses a different end of a request.
    """

    reason: str
    applies: Callable[[bytes, Outcome, Outcome], bool]
    is_rare: bool = False  # depends on timing: a run may not need it


EXPLANATIONS: Final = (
    Explanation(
        "ranges of a program's output are sent where it has ended before the head goes out: in both "
        "servers a matter of timing",
        lambda data, apache, ours: (
            b"/e.cgi" in data and {apache.statuses[:1], ours.statuses[:1]} == {(200,), (206,)}
        ),
        is_rare=True,
    ),
    Explanation(
        "417 for an expectation: apache2 reads the body before it says so, and answers for a bad body "
        "instead; Whimbrel closes unread",
        lambda data, apache, ours: (
            b"expect" in data.lower()
            and ours.statuses[-1:] == (417,)
            and apache.statuses[-1:] in ((400,), (413,))
        ),
    ),
)


def _same_end(one: Outcome, other: Outcome) -> bool:
    return (len(one.statuses), one.sentinel, one.closed) == (
        len(other.statuses),
        other.sentinel,
        other.closed,
    )


def judge(data: bytes, apache: Outcome, ours: Outcome, used: set[str]) -> str:
    """Return the problem of *ours*, "" for none. *used* collects the explanations that were needed."""
    if not _same_end(apache, ours):
        return "ends elsewhere"
    if apache.statuses == ours.statuses:
        return ""
    found = next((one.reason for one in EXPLANATIONS if one.applies(data, apache, ours)), "")
    if found:
        used.add(found)
        return ""
    return "another status"


def _compare(apache: Server, ours: Server, data: bytes) -> tuple[Outcome, list[Outcome]]:
    return send(apache, data), [send(ours, data) for _ in range(3)]


def _run(budget: Budget, options: str) -> Result:
    if not APACHE.is_present:
        return Result(skipped="apache2 is not installed")
    result, used, sent, ends = Result(), set[str](), 0, 0
    site = Site(CONF.format(options=options), DOCUMENTS)
    made = cases(budget.random)
    with (
        Server(APACHE, site) as apache,
        Server(WHIMBREL, site) as ours,
        ThreadPoolExecutor(AT_ONE_TIME) as pool,
    ):
        while sent < budget.cases and not budget.is_spent:
            group = [next(made) for _ in range(min(AT_ONE_TIME * 4, budget.cases - sent))]
            for data, (wanted, got) in zip(
                group, pool.map(lambda one: _compare(apache, ours, one), group), strict=True
            ):
                sent += 1
                for warm, outcome in enumerate(got):
                    problem = judge(data, wanted, outcome, used)
                    if problem:
                        ends += problem == "ends elsewhere"
                        result.failures.append(
                            f"{problem}, {'warm' if warm else 'cold'}: {_shown(data)}: apache2 {wanted}; "
                            f"whimbrel {outcome}"
                        )
                        break
        if "Traceback" in ours.output:
            result.failures.append("a traceback: " + ours.output.partition("Traceback")[2][:2000])
    if sent >= 5000:
        result.failures += [
            f"no longer needed: {one.reason}"
            for one in EXPLANATIONS
            if not one.is_rare and one.reason not in used
        ]
    result.figures = {
        "requests": sent,
        "ends elsewhere": ends,
        "failures": len(result.failures),
        "explanations used": len(used),
    }
    return result


def _shown(data: bytes) -> str:
    text = repr(re.sub(rb"(.)\1{60,}", lambda found: found[1] + b"{%d}" % len(found[0]), data, flags=re.S))
    return text[2:-1][:600]


MEASURES = (
    Measure(
        "wire-strict",
        "6,000 odd requests end where apache2 thinks they end, cold and warm (HttpProtocolOptions Strict).",
        lambda budget: _run(budget, "Strict"),
        cases=6000,
        seconds=1500.0,
    ),
    Measure(
        "wire-unsafe",
        "6,000 odd requests end where apache2 thinks they end, cold and warm (HttpProtocolOptions Unsafe).",
        lambda budget: _run(budget, "Unsafe"),
        cases=6000,
        seconds=1500.0,
    ),
)
