"""Host names and addresses of requests, valid and not: a list of curious ones, and random ones."""

from __future__ import annotations

import random

CURIOUS = [
    *"""
localhost LOCALHOST a. a.. a.b. .. . a..b 1 123 1.2 1.2.3 1.2.3.4 01.2.3.4 1.02.3.4 1.2.3.00 0.0.0.0
1.2.3.4. 1.2.3.4.5 .1.2.3 256.1.1.1 [::] [::1] [::1]:80 [4712::abcd::] [1:2:3:4:5:6:7:8] [1:2] [:.1]
[1.:2] [1..2] [:::] [::FFFF:1.2.3.4] [::1 ::1 ::1] [] []:80 [g] [::1%eth0] [::1]x [::1]: [::1]:x [::1]:0
[::1]:65536 [::1]:70000 a: a:80 a:0 a:65535 a:65536 a:080 a:99999999999 a:8x a:-1 a:+1 :80 : a:b:80
a:80:80 a_b a-b -a a- _a a.1 a.1a a.b1 a.-b a._b a@b u:p@h u@h:80 a/b a,b a;b a%20b a*b a?b a#b a'b a<b
a|b a~b a!b a$b a&b a(b a=b a+b a.b.c. A.B:8080 xn--a 1a 1- 1-2 1.a a.0 127.0.0.1:80 0x7f.1 1:80 12:
a.:80 1.2.3.4: 1.2.3.4:0 1.2.3:80 [1.2.3.4] [::1.2.3.4] [0::0] [ABCD::] [12345::] [1::2::3] [1:::3]
[v1.a] [::1]] [[::1] [::1]:80:80 [a]:0 @.
""".split(),
    "",
    "a: 80",
    "a\\b",
    "a b",
    'a"b',
    "é",
    "a\x7fb",
    "a\x01b",
    "a\tb",
    "a" * 256,
]
_PIECES = (
    "a",
    "B",
    "1",
    "0",
    ".",
    ":",
    "-",
    "_",
    "[",
    "]",
    "%",
    "@",
    "..",
    "::",
    ":80",
    "/",
    "\\",
    "~",
    "2.3",
    "!",
)
_PIECES_V6 = ("::", ":", "1", "0", ".", "a", "F", "1.2.3.4", "ffff", "..", ":.", ".:", "g", "12345")
_PORTS = ("", "", ":80", ":", "x", ":0")


def host_names(count: int, seed: int) -> list[str]:
    """Return the curious ones and *count* random ones."""
    source = random.Random(seed)
    return list(dict.fromkeys([*CURIOUS, *(_random(source) for _ in range(count))]))


def _random(source: random.Random) -> str:
    kind = source.random()
    if kind < 0.45:
        return "".join(source.choices(_PIECES, k=source.randint(1, 6)))
    if kind < 0.8:
        return f"[{''.join(source.choices(_PIECES_V6, k=source.randint(1, 7)))}]{source.choice(_PORTS)}"
    numbers = source.choices(("0", "1", "9", "00", "01", "255", "256", "a", ""), k=source.randint(1, 5))
    return ".".join(numbers) + source.choice(_PORTS)


def requests(names: list[str]) -> dict[str, str]:
    """Return requests with each name as Host and in the target, by what they are."""
    out = {}
    for name in names:
        out[f"Host {name!r}"] = f"GET /list HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n"
        out[f"Host {name!r}, HTTP/1.0"] = f"GET /list HTTP/1.0\r\nHost: {name}\r\n\r\n"
        out[f"target {name!r}"] = (
            f"GET http://{name}/list HTTP/1.1\r\nHost: other\r\nConnection: close\r\n\r\n"
        )
        out[f"target {name!r}, HTTP/1.0"] = f"GET http://{name}/list HTTP/1.0\r\n\r\n"
    return out
