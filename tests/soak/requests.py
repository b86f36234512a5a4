"""Requests of the load, by kind, with what their responses must be."""

from __future__ import annotations

import random
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass

from tests.soak.site import BIG, DOCUMENTS
from tests.soak.wire import Reply

Fields = tuple[tuple[str, str], ...]
Check = Callable[[bytes], bool]
ALLOWED = (("authorization", "Basic " + b64encode(b"anna:admin").decode()),)
REFUSED = (("authorization", "Basic " + b64encode(b"anna:wrong").decode()),)


@dataclass(frozen=True)
class Asked:
    """A request, and its response: *statuses* that are right, and *check* of a body with status 200.

    Attributes:
        target: without the number of the request.
        share: of all requests, as a weight.
    """

    kind: str
    share: int
    target: str
    statuses: tuple[int, ...] = (200,)
    method: str = "GET"
    fields: Fields = ()
    body: bytes = b""
    check: Check | None = None

    def problem(self, status: int, body: bytes) -> str:
        """Return what is wrong with a response; "" for nothing."""
        if status not in self.statuses:
            return f"{self.method} {self.target}: status {status} in place of {self.statuses}"
        if status == 200 and self.check is not None and self.method != "HEAD" and not self.check(body):
            return f"{self.method} {self.target}: wrong body of {len(body)} bytes, {body[:60]!r}"
        return ""


def is_one_version(body: bytes) -> bool:
    """Return True for the body of a page of the back end: equal lines."""
    lines = body.split(b"\n")
    return lines.pop() == b"" and len(set(lines)) == 1


def _document(number: int) -> Asked:
    name = f"f/{number}.txt"
    return Asked("static", 25, f"/{name}", check=DOCUMENTS[name].__eq__)


KINDS: tuple[Callable[[int], Asked], ...] = (
    _document,
    lambda n: Asked("revalidation", 4, "/a.txt", (304,), fields=(("if-none-match", "*"),)),
    lambda n: Asked("range", 3, "/big.bin", (206,), fields=(("range", f"bytes={n}-{n + 500}"),)),
    lambda n: Asked("HEAD", 3, f"/f/{n}.txt", method="HEAD"),
    lambda n: Asked("missing", 4, f"/none/{n}", (404,)),
    lambda n: Asked("invented field", 2, "/a.txt", fields=((f"x-{n}", "y" * n),), check=b"plain a\n".__eq__),
    lambda n: Asked("no password", 1, "/private/a.txt", (401,)),
    lambda n: Asked("password", 3, "/private/a.txt", fields=ALLOWED, check=b"private\n".__eq__),
    lambda n: Asked("wrong password", 1, "/private/a.txt", (401,), fields=REFUSED),
    lambda n: Asked("SSI", 5, "/page.shtml", check=lambda body: body.endswith(b" plain a\n</p>\n")),
    lambda n: Asked("gzip", 2, "/page.shtml", fields=(("accept-encoding", "gzip"),)),
    lambda n: Asked("CGI", 3, "/echo.cgi", check=lambda body: body.startswith(b"n=")),
    lambda n: Asked("slow CGI", 1, "/slow.cgi", check=b"slow\n".__eq__),
    lambda n: Asked(
        "POST to CGI",
        2,
        "/echo.cgi",
        method="POST",
        body=b"z" * 50 * n,
        check=lambda body: body.startswith(b"z" * 50 * n + b"n="),
    ),
    lambda n: Asked("failing CGI", 1, "/fails.cgi", (500,)),
    lambda n: Asked("proxy", 8, f"/proxy/{n}", check=is_one_version),
    lambda n: Asked("proxy, chunked", 4, f"/proxy/chunked/{n}", check=is_one_version),
    lambda n: Asked("proxy, slow", 1, "/proxy/slow", check=is_one_version),
    lambda n: Asked("cache", 14, f"/cached/{n}", check=is_one_version),
    lambda n: Asked("cache, chunked", 3, f"/cached/chunked/{n}", check=is_one_version),
    lambda n: Asked("large", 2, "/big.bin", check=BIG.__eq__),
    lambda n: Asked("listing", 2, "/list/", check=lambda body: b"b.txt" in body),
    lambda n: Asked("PROPFIND", 1, "/dav/", (207,), method="PROPFIND", fields=(("depth", "0"),)),
    lambda n: Asked("OPTIONS", 1, "/dav/", method="OPTIONS"),
    lambda n: Asked("method", 1, "/a.txt", (405,), method="PUT", body=b"x"),
)
_SHARES = [make(1).share for make in KINDS]


def chosen(dice: random.Random) -> Asked:
    """Return a request by the shares."""
    return dice.choices(KINDS, _SHARES)[0](dice.randrange(100))


def numbered(target: str, number: int) -> str:
    """Return *target* with the number of the request in its query."""
    return f"{target}?n={number}"


def encoded(asked: Asked, number: int) -> bytes:
    """Return the request for HTTP/1.1."""
    fields = [("Host", "localhost"), *asked.fields]
    if asked.body or asked.method == "POST":
        fields.append(("Content-Length", str(len(asked.body))))
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields)
    return f"{asked.method} {numbered(asked.target, number)} HTTP/1.1\r\n{lines}\r\n".encode() + asked.body


def logged_size(asked: Asked, reply: Reply) -> int:
    """Return the bytes of the body that the access log must show, -1 where it counts something else."""
    return -1 if asked.method == "HEAD" else len(reply.body)
