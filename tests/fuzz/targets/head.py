"""Request heads: no exception; the fast path, the exact reader, a reader of pieces and the caches agree.

The first byte selects the options.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.differential.raw_requests import FRAMING, HEADS, LINES
from tests.fuzz import seeds as recorded
from tests.fuzz.push import splits
from whimbrel.http.syntax.head import Head, HeaderBlockCache, HeadReader, read_complete, read_head
from whimbrel.http.syntax.head_shape import LINE, HeadShapes, line_of
from whimbrel.http.syntax.line_reader import HeadLimits, InputState, ParserOptions

COVERED = (
    "http/syntax/head.py",
    "http/syntax/head_shape.py",
    "http/syntax/fields.py",
    "http/syntax/host.py",
    "http/syntax/line_reader.py",
    "http/syntax/request_line.py",
    "http/syntax/target.py",
)
TOKENS = (
    b"GET ",
    b"CONNECT ",
    b" HTTP/1.1\r\n",
    b" HTTP/1.0\r\n",
    b"\r\n",
    b"\n",
    b"\r\n\r\n",
    b"Host: a.test:80\r\n",
    b"Content-Length: 5\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Expect: 100-continue\r\n",
    b"http://",
    b"[::1]",
    b"%00",
    b"//",
    b"?",
    b"#",
    b" ",
    b"\t",
    b":",
    b"@",
    b"\x80",
)
LIMITS = (HeadLimits(), HeadLimits(line=60, field_size=40, fields=3))
OPTIONS = tuple(
    ParserOptions(strict=strict, registered_methods=registered, version22=version22)
    for version22 in (False, True)
    for strict in (True, False)
    for registered in (False, True)
)


def seeds() -> Sequence[bytes]:
    written = [text.encode("latin-1") for group in (FRAMING, HEADS, LINES) for text in group.values()]
    raw = [
        request.raw if isinstance(request.raw, bytes) else request.raw.encode("latin-1", "replace")
        for request in recorded.requests("core-http")
        if request.raw
    ]
    lines = [
        f"{request.method} {request.path} HTTP/1.1\r\nHost: localhost\r\n"
        + "".join(f"{name}: {value}\r\n" for name, value in request.headers)
        + "\r\n"
        for request in recorded.requests("core-path", "core-mapping", "core-http")
    ]
    hosts = [
        b"GET / HTTP/1.1\r\nHost: %b\r\n\r\n" % host
        for host in (
            b"[::1]:80",
            b"[::1",
            b"a_b.test",
            b"1.2.3",
            b"123",
            b"a..b",
            b"a:99999",
            b"[::ffff:1.2.3.4]",
            b"a.1",
            b"%41",
        )
    ]
    targets = [
        b"CONNECT a.test:443 HTTP/1.1\r\n\r\n",
        b"GET http://u:p@[::1]:80/x?y HTTP/1.1\r\nHost: b\r\n\r\n",
    ]
    texts = [*hosts, *targets, *written, *raw, *(line.encode("latin-1", "replace") for line in lines)]
    return [b"\0" + text for text in recorded.few(texts, 150)]


def run(data: bytes) -> None:
    switches, data = data[:1], data[1:]
    limits = LIMITS[switches[0] & 1 if switches else 0]
    options = OPTIONS[(switches[0] >> 1) % len(OPTIONS) if switches else 0]
    for ending in (InputState.OPEN, InputState.EOF):
        exact = HeadReader(data, limits, options).read(ending)
        assert read_head(data, limits, options, ending=ending) == exact
    if read_complete(data, limits, options) is not None:
        known: HeaderBlockCache = {}
        for _ in range(3):  # unknown, seen once, cached
            assert read_complete(data, limits, options, known) == HeadReader(data, limits, options).read()
    _check_pieces(data, limits, options)
    _check_shape(data, options)


def _check_pieces(data: bytes, limits: HeadLimits, options: ParserOptions) -> None:
    """A head that arrives in pieces is the same, unless fewer bytes of it were needed."""
    whole = read_head(data, limits, options)
    for pieces in splits(data):
        reader = HeadReader(b"", limits, options)
        found: Head | None = None
        for piece in pieces:
            reader.data += piece
            found = reader.read()
            if found is not None:
                break
        if found is not None and whole is not None:
            assert (found.error, found.line, found.headers, found.chunked, found.length) == (
                whole.error,
                whole.line,
                whole.headers,
                whole.chunked,
                whole.length,
            )
        else:
            assert found is whole


def _check_shape(data: bytes, options: ParserOptions) -> None:
    """A split head is one that the reader finds too, with the same line and values."""
    stop = data.find(b"\r\n\r\n") + 4
    raw = data[:stop] if stop >= 4 else data
    split = HeadShapes().split(raw)
    if split is None or raw[:1] == b"\0":
        return
    _raw, pieces, shape, _is_plain = split
    head = read_head(raw, HeadLimits(), options)
    assert head is not None
    if head.error is None:
        assert head.line is not None
        assert head.line.encode("latin-1") == line_of(pieces)
        names = tuple(shape.positions)
        fill, values_of = shape.fill((LINE, *names, b"absent"))
        filled = values_of(pieces, b"", b"")
        assert fill(b"%b\n" * (len(names) + 2), pieces, b"", b"") == b"".join(
            [value + b"\n" for value in filled]
        )
        assert filled == (
            line_of(pieces),
            *(b", ".join([pieces[at] for at in shape.positions[name]]) for name in names),
            b"-",
        )
        for name, positions in shape.positions.items():
            values = [pieces[at].decode("latin-1") for at in positions]
            if name.lower() not in (b"host", b"content-length"):
                assert head.headers.get_list(name.decode()) == ", ".join(values)
