"""Random requests for names that mostly come once, in many shapes, well formed and not."""

from __future__ import annotations

import random
from typing import Final

from tests.differential.raw_requests import FRAMING, HEADS, LINES, NEXT
from tests.differential.specialized_site import FILES, LINKS, RULES

EXTENSIONS: Final = (
    *(
        "",
        "",
        "",
        ".txt",
        ".html",
        ".php",
        ".gif",
        ".tar.gz",
        ".HTML",
        ".foo.txt",
        ".x.y.z",
        ".en",
        ".html.de",
    ),
    *(".bak", ".n1", ".txt.n2", ".", "..txt", ".shtml", ".asis", ".gz", ".Txt", ".css.gz"),
)
TAILS: Final = (
    "",
    "",
    "",
    "",
    "",
    "/",
    "/more",
    "/more/less.txt",
    "//",
    "/.",
    "/a.txt",
    "?",
    "?a=1",
    "?a=1&b",
)
DIRECTORIES: Final = (
    *("/", "/", "/", "/", "/dir/", "/dir/", "/dir/sub/", "/nope/", "/none/such/deep/", "/list/", "/dirlink/"),
    *(
        "/dir/up/",
        "/closed/",
        "/old/",
        "/old/",
        "/new/a/",
        "/img/",
        "/admin/deep/er/",
        "//",
        "/dir//",
        "/./",
        "/dir/../",
        "/%64ir/",
        "/Dir/",
        "/cgi-bin/",
        "/empty/",
    ),
)
ODD: Final = (
    *(
        "%41",
        "a%20b",
        "%2e%2e",
        "%00",
        "a%2fb",
        "%zz",
        "..",
        ".",
        "...",
        "~x",
        "a;b",
        "a:b",
        "a#b",
        "\xe9",
        "a\\b",
    ),
    *(
        '"',
        "<x>",
        "a b",
        "*",
        "x" * 199,
        "x" * 201,
        "x" * 260,
        "%C3%A9",
        ".hidden",
        ".htaccess",
        ".htpasswd",
        "-",
        "$1",
    ),
)
METHODS: Final = (
    *("GET",) * 40,
    "HEAD",
    "HEAD",
    "HEAD",
    "POST",
    "OPTIONS",
    "PUT",
    "TRACE",
    "FROB",
    "get",
    "DELETE",
)
FIELDS: Final = (
    *("User-Agent: one", "User-Agent: two/1.0", "Accept: */*", "Accept: text/html", "Accept-Encoding: gzip"),
    *("Accept-Language: de", "X-A: one", "X-A: two", "x-a: One", "X-A:", "X-A:one", "X-A: one ", "X-A:\tone"),
    *("Cookie: k=one; j=2", "Referer: http://ex.test/", 'Referer: "quoted\\"', "X-B: \xe9\xff", "Via: 1.1 x"),
    *(
        "Connection: keep-alive",
        "Connection: close",
        "Connection: Keep-Alive, X-A",
        "Keep-Alive: 300",
        "TE: trailers",
    ),
    *("Range: bytes=0-2", "Range: bytes=-5", "Range: bytes=0-0,2-3", "Range: junk", "If-Range: x"),
    *("If-Modified-Since: Sun, 13 Sep 2020 12:26:40 GMT", "If-None-Match: *", "If-Match: *"),
    'If-None-Match: "20-5af3107a40000"',  # f2.txt in the root directory
    'If-Match: "20-5af3107a40000"',
    "If-Unmodified-Since: Sun, 13 Sep 2020 12:26:40 GMT",
    "Range: bytes=0-3,2-9",
    *(
        "If-Modified-Since: Sun, 13 Sep 2020 12:26:39 GMT",
        "If-Unmodified-Since: Sat, 12 Sep 2020 12:26:40 GMT",
    ),
    *('If-None-Match: "118-5af3106da4000"', 'If-Match: "x"', "If-None-Match: W/x"),
    *(
        "Authorization: Basic YWxpY2U6Y3VybGV3",
        "Authorization: Basic YWxpY2U6bm8=",
        "Authorization: Digest x",
    ),
    *("Content-Length: 0", "Content-Length: 00", "Upgrade: h2c"),
    *("X-Forwarded-For: 127.0.0.2", "Content-Type: text/plain", "Negotiate: trans"),
    *("Proxy-Connection: close", "HTTP2-Settings: AA", "X-Long: " + "v" * 70, "X_A: one", "Range: bytes=5-4"),
)
BROKEN: Final = (
    *("Host: two.test", "Host: other", "Expect: 100-continue", "Expect: x"),
    *(
        "X-A : one",
        " folded: x",
        "X-A: one\r\n two",
        "no colon",
        ": empty",
        "X-A: a\rb",
        "X-A: a\nb",
        "X-A: a\0b",
    ),
    *("X-A: \x01", "X-\xe9: x", "X-A\t: x", "Content-Length: 3", "Content-Length: x", "Content-Length: -1"),
    *(
        "Transfer-Encoding: chunked",
        "Transfer-Encoding: identity",
        "Transfer-Encoding: x",
        "X(A): one",
        "X-A: \x7f",
    ),
    *(
        "Content-Length: 3\r\nContent-Length: 3",
        "Content-Length: 3\r\nContent-Length: 4",
        "Host: a b",
        "Host:",
    ),
    *("Transfer-Encoding: chunked\r\nContent-Length: 5", "Content-Length : 5", "Transfer-Encoding:\tchunked"),
)
VERSIONS: Final = (
    *("HTTP/1.1",) * 60,
    "HTTP/1.0",
    "HTTP/1.0",
    "HTTP/1.2",
    "HTTP/2.0",
    "http/1.1",
    "HTTP/0.9",
    "HTTP/1.1 ",
)
HOSTS: Final = (
    *("localhost",) * 30,
    "two.test",
    "three.test",
    "vh.test",
    "LOCALHOST",
    "localhost:8080",
    "x..y",
    "",
)
H2_ODD: Final = (
    *(
        ("connection", "close"),
        ("te", "gzip"),
        ("X-Up", "x"),
        ("host", "other"),
        ("transfer-encoding", "chunked"),
    ),
    *(
        ("content-length", "3"),
        ("x-a", " one"),
        ("x-a", "a\nb"),
        ("keep-alive", "x"),
        (":path", "/a.txt"),
        ("", "x"),
    ),
)


class Requests:
    """Random requests of the clients of one site; *names* are the paths sent last."""

    def __init__(self, dice: random.Random, special: tuple[str, ...]) -> None:
        self.dice, self.special, self.names = dice, special, ["/index.html"]
        self.shapes = [dice.sample(FIELDS, dice.choice((0, 1, 1, 2, 3))) for _ in range(3)]
        self.directories = dice.sample(DIRECTORIES, 2) + ["/", "/dir/"]
        self.count, self.is_calm = 0, dice.random() < 0.7  # calm: most requests are alike but for the name
        self.extensions = dice.sample(EXTENSIONS, 3)

    def path(self) -> str:
        """Return a target in origin form."""
        dice, kind = self.dice, self.dice.random()
        self.count += 1
        directory = dice.choice(self.directories)
        if self.is_calm and dice.random() < 0.4:
            return dice.choice(self.directories[-2:]) + f"n{self.count}" + dice.choice(self.extensions)
        if self.is_calm and dice.random() < 0.4:
            name = dice.choice(self.special) + dice.choice(("", "", "", "x", "/", "/more", ".txt", "?a"))
            return dice.choice(self.directories[-2:]) + dice.choice(("", "", "", "x")) + name
        if self.is_calm and dice.random() < 0.5:
            return "/" + dice.choice([*FILES]) + dice.choice(("",) * 12 + TAILS)
        if kind < 0.45:
            name = dice.choice(("n", "n", "X", "wp-", "_", "1")) + str(self.count) + dice.choice(EXTENSIONS)
        elif kind < 0.65:
            return dice.choice(("/", "/", "/", "//")) + dice.choice([*FILES, *LINKS]) + dice.choice(TAILS)
        elif kind < 0.86:
            name = dice.choice(self.special) + dice.choice(
                ("", "", "x", "/", str(self.count), ".txt", "/a.txt")
            )
            name = dice.choice(("", "", "", "x", "n/")) + name
        elif kind < 0.93:
            return dice.choice(self.names)
        else:
            name = dice.choice(ODD)
        return directory + name + dice.choice(TAILS)

    def head(self) -> bytes:
        """Return one request."""
        dice = self.dice
        path = self.path()
        self.names = [*self.names[-40:], path.partition("?")[0]]
        if self.is_calm and dice.random() < 0.75:
            lines = [f"GET {path} HTTP/1.1", "Host: localhost", *self.shapes[dice.random() < 0.2]]
            return "\r\n".join([*lines, "", ""]).encode("latin-1")
        line = f"{dice.choice(METHODS)} {path} {dice.choice(VERSIONS)}"
        fields = (
            list(dice.choice(self.shapes)) if dice.random() < 0.9 else dice.sample(FIELDS, dice.randrange(5))
        )
        if dice.random() < 0.1:
            fields.insert(dice.randrange(len(fields) + 1), dice.choice(FIELDS))
        if dice.random() < 0.04:
            fields.insert(dice.randrange(len(fields) + 1), dice.choice(BROKEN))
        if dice.random() < 0.05:
            dice.shuffle(fields)
        if dice.random() < 0.985:
            fields.insert(0 if dice.random() < 0.95 else len(fields), f"Host: {dice.choice(HOSTS)}")
        data = "\r\n".join([line, *fields, "", ""]).encode("latin-1")
        if line.startswith(("POST", "PUT")):
            data += dice.choice((b"", b"", b"", b"abc", b"3\r\nabc\r\n0\r\n\r\n"))
        return data

    def send(self) -> bytes:
        """Return what a client sends at a time: one request, several, a known bad one, or a mutated one."""
        dice, kind = self.dice, self.dice.random()
        if kind < 0.8:
            return self.head()
        if kind < 0.88:
            return b"".join(self.head() for _ in range(dice.choice((2, 2, 3, 8))))
        if kind < 0.93:
            known = dice.choice([*FRAMING.values(), *HEADS.values(), *LINES.values()])
            for old in ("/a.txt", "/nope", "/e.cgi"):
                known = known.replace(old, self.path() if dice.random() < 0.5 else old)
            return known.encode("latin-1", "replace")
        return self._mutated(self.head()) + (NEXT.encode() if dice.random() < 0.3 else b"")

    def _mutated(self, data: bytes) -> bytes:
        dice, out = self.dice, bytearray(data)
        for _ in range(dice.choice((1, 1, 2, 4))):
            at, kind = dice.randrange(len(out)), dice.randrange(5)
            if kind == 0:
                out[at] = dice.randrange(256)
            elif kind == 1:
                del out[at : at + dice.choice((1, 1, 2, 9))]
            elif kind == 2:
                out[at:at] = dice.choice(
                    (b" ", b"\t", b"\r\n", b"\n", b"\r", b"\0", b":", b"%", b"\x7f", b"\xe9", b"/")
                )
            elif kind == 3:
                out[at:at] = out[at : at + dice.choice((1, 4, 20))]
            else:
                out[at] ^= 32
            if not out:
                return b"\r\n"
        return bytes(out)

    def pieces(self, data: bytes) -> tuple[bytes, ...]:
        """Return *data* cut as it may arrive."""
        if self.dice.random() < 0.93 or len(data) < 3:
            return (data,)
        cuts = sorted(
            {0, len(data), *(self.dice.randrange(1, len(data)) for _ in range(self.dice.choice((1, 2, 4))))}
        )
        return tuple(data[a:b] for a, b in zip(cuts, cuts[1:], strict=False))

    def fields(self) -> list[tuple[str, str]]:
        """Return the fields of one request of HTTP/2."""
        dice = self.dice
        path = self.path()
        self.names = [*self.names[-40:], path.partition("?")[0]]
        is_plain = self.is_calm and dice.random() < 0.8
        out = [
            (":method", "GET" if is_plain else dice.choice(METHODS)),
            (":scheme", "http" if is_plain else dice.choice(("http", "http", "http", "https"))),
            (":authority", "localhost" if is_plain else dice.choice(HOSTS[:-1])),
            (":path", path),
        ]
        for field in self.shapes[0] if is_plain else dice.choice(self.shapes):
            name, _, value = field.partition(":")
            if name.lower() not in ("connection", "host", "keep-alive", "proxy-connection", "upgrade", "te"):
                out.append((name.lower(), value.strip()))
        if dice.random() < 0.08:
            out.insert(dice.randrange(len(out) + 1), dice.choice(H2_ODD))
        return out


__all__ = ["RULES", "Requests"]
