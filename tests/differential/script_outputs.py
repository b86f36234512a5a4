"""Outputs of CGI scripts, sound and not, and the requests that ask for them."""

from __future__ import annotations

from typing import Final

from tests.differential.raw_exchange import Documents

_TEXT = "Content-Type: text/plain\n"
_HELLO = "\nhello"

WHOLE: Final = {
    "crlf": "Content-Type: text/plain\r\nX-A: b\r\n\r\nhello\r\n",
    "empty": "",
    "line": "\n",
    "no head": "\nbody",
    "no end": "hello",
    "no end, two lines": "hello\nworld\n",
    "no colon": f"{_TEXT}foo\n{_HELLO}",
    "no body": f"{_TEXT}\n",
    "no empty line": _TEXT,
    "cut": "Content-Type: text/pl",
    "HTTP/1.1": f"HTTP/1.1 200 OK\n{_TEXT}{_HELLO}",
    "no type": f"X-A: b\n{_HELLO}",
    "empty type": f"Content-Type:\n{_HELLO}",
    "two types": f"Content-Type: text/html\n{_TEXT}{_HELLO}",
    "bad type": f"Content-Type: foo\n{_HELLO}",
    "type without colon": f"Content-Type\n{_HELLO}",
    "carriage returns": f"Content-Type: text/plain\r\rX: y\r\n{_HELLO}",
    "empty line of returns": f"{_TEXT}X-A: b\r\r\nY: z\0q\r\n\r\nhello",
    "NUL line": f"{_TEXT}\0\nX: y\n{_HELLO}",
    "larger": _TEXT + "\n" + "x" * 9000,
    "large": _TEXT + "\n" + "y" * 70000,
    "large with length": f"{_TEXT}Content-Length: 70000\n\n" + "y" * 70000,
}
FIELDS: Final = (
    *(
        "Content-Length: 5",
        "Content-Length: 3",
        "Content-Length: 30",
        "Content-Length: abc",
        "Content-Length: -1",
    ),
    *(
        "Content-Length: 0",
        "Content-Length: 3\nContent-Length: 5",
        "Content-Length: +5",
        "Content-Length:  5 ",
    ),
    *("Content-Length: 99999999999999999999", "Transfer-Encoding: chunked", "Transfer-Encoding: gzip"),
    *("Connection: close", "Connection: keep-alive", "Connection: X-A\nX-A: b", "Keep-Alive: timeout=77"),
    *(
        "Trailer: X",
        "Upgrade: foo",
        "Date: Sun, 13 Sep 2015 12:26:40 GMT",
        "Server: mine",
        "Via: x",
        "Allow: GET",
    ),
    *(
        "X A: ab",
        "X-A : ab",
        ": ab",
        "X-A:",
        "X-A: \xe9",
        "X-\xe9: b",
        "X-A: b\n c",
        "X-A:\tb\tc\t",
        "X-A: b   ",
    ),
    *("X-A: b\nX-A: c", "Set-Cookie: a=b\nSet-Cookie: c=d", "X-A: " + "b" * 8000, "X-A: " + "b" * 9000),
    *(
        "X-A: a\x01b",
        "X\x01A: ab",
        "X-A: a\x00b",
        "X-A: b\rc",
        "X-A: a\x7fb",
        "X_A: b",
        "X,A: b",
        'ETag: "x"',
    ),
    *("Last-Modified: Sun, 13 Sep 2020 12:26:40 GMT", "Last-Modified: foo", "Expires: 0", "Warning: 199 x"),
    *("Cache-Control: no-cache\nPragma: no-cache", "Vary: a, b\nVary: A", "Content-Encoding: gzip"),
    *(
        "Content-Language: en",
        "Content-Range: bytes 0-1/2",
        "Accept-Ranges: bytes",
        "Script-Control: no-abort",
    ),
)
STATUSES: Final = (
    *(
        "200 Fine",
        "201",
        "204 No Content",
        "205",
        "206",
        "299",
        "299 My Reason",
        "302",
        "304 Not Modified",
        "400",
    ),
    *(
        "401",
        "403",
        "404",
        "404 Nope",
        "405",
        "408",
        "413",
        "416",
        "418 I'm a teapot",
        "500",
        "500 Oops",
        "503",
    ),
    *(
        "100",
        "101",
        "103",
        "199",
        "99",
        "0",
        "600",
        "999 x",
        "1000",
        "abc",
        "-200",
        "20",
        "200x",
        "",
        "200\tTab",
    ),
    *("200 a\x01b", "200 a\0b", "200 \xe9", "200 a\tb", "200\nStatus: 404", "200 " + "x" * 300),
)
LOCATIONS: Final = ("http://x/y", "/a.txt", "", "/nope?x=y", "a.txt", "./a.txt", "//x/y")
# They do not show their end to a client that keeps the connection: httpd's framing of these is a race.
NPH: Final = {
    "nph sound": "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nhello",
    "nph missing": "HTTP/1.0 404 Nope\nX: y\n\nhello",
    "nph text": "hello",
    "nph empty": "",
    "nph length": "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello",
    "nph chunked": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "nph parsed": f"{_TEXT}{_HELLO}",
}
_NEXT = "GET /a.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
FORMS: Final = {
    "closed": "GET {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    "HTTP/1.0": "GET {} HTTP/1.0\r\n\r\n",
    "HTTP/1.0, kept": "GET {} HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" + _NEXT,
    "pipelined": "GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n" + _NEXT,
    "kept": "GET {} HTTP/1.1\r\nHost: localhost\r\nConnection: Keep-Alive\r\n\r\n" + _NEXT,
    "HEAD": "HEAD {} HTTP/1.1\r\nHost: localhost\r\n\r\n" + _NEXT,
    "HEAD, HTTP/1.0": "HEAD {} HTTP/1.0\r\n\r\n",
    "POST": "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc" + _NEXT,
    "range": "GET {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nRange: bytes=1-2\r\n\r\n",
    "condition": 'GET {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nIf-None-Match: "x"\r\n'
    "If-Modified-Since: Sun, 13 Sep 2020 12:26:40 GMT\r\n\r\n",
}
# The script reads the request's body and outlives its output: the end never comes with the beginning.
SCRIPT: Final = """#!/bin/sh
cd "$(dirname "$0")/out"
[ $REQUEST_METHOD = POST ] && cat >/dev/null
cat "$QUERY_STRING"
sleep 0.1
"""


def outputs() -> dict[str, str]:
    """Return all outputs by name."""
    out = {**WHOLE, **NPH}
    out.update({f"field {field[:40]!r}": f"{_TEXT}{field}\n{_HELLO}" for field in FIELDS})
    out.update({f"status {status[:40]!r}": f"Status: {status}\n{_TEXT}{_HELLO}" for status in STATUSES})
    out.update({f"bare status {status[:40]!r}": f"Status: {status}\n\n" for status in STATUSES})
    out.update({f"location {where!r}": f"Location: {where}\n\n" for where in LOCATIONS})
    out.update(
        {f"location {where!r} with body": f"Location: {where}\n{_TEXT}{_HELLO}" for where in LOCATIONS}
    )
    out.update(
        {
            f"location {where!r} with status": f"Status: 302 M\nLocation: {where}\n{_HELLO}"
            for where in LOCATIONS
        }
    )
    return out


def documents() -> Documents:
    """Return the scripts and a file for each output, named by its number."""
    files = {f"out/{number}": text for number, text in enumerate(outputs().values())}
    return Documents(files, {"slow.cgi": SCRIPT, "nph-slow.cgi": SCRIPT})


def requests() -> dict[str, str]:
    """Return the requests in all forms for all outputs."""
    return {
        f"{name}: {form}": text.format(f"/{'nph-' if name in NPH else ''}slow.cgi?{number}")
        for number, name in enumerate(outputs())
        for form, text in FORMS.items()
    }
