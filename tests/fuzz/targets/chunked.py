"""Chunked bodies: BodyError alone; any split gives the same data, fields, rest and fault.

The first byte selects the options.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.differential.raw_requests import FRAMING
from tests.fuzz.push import same_for_all_splits
from whimbrel.http.http1.chunked import BodyError, ChunkedBody, LengthBody
from whimbrel.http.semantics.headers import Headers
from whimbrel.http.syntax.line_reader import HeadLimits, ParserOptions

COVERED = ("http/http1/chunked.py", "http/syntax/fields.py")
TOKENS = (
    b"0\r\n\r\n",
    b"5\r\nabcde\r\n",
    b"0\r\nX: y\r\n\r\n",
    b";a=b",
    b"\r\n",
    b"\n",
    b"7fffffffffffffff",
    b"          ",
    b"\t",
)
OPTIONS = tuple(
    ParserOptions(strict=strict, version22=old) for old in (False, True) for strict in (True, False)
)
LIMITS = (HeadLimits(), HeadLimits(field_size=20, fields=2))


def seeds() -> Sequence[bytes]:
    bodies = [text.encode("latin-1").partition(b"\r\n\r\n")[2] for text in FRAMING.values()]
    return [
        *(b"\0" + body for body in bodies if body),
        b"\0" + b"5;x=1\r\nabcde\r\n0\r\nA: b\r\n c\r\n\r\nGET /",
        b"\2" + b"5\nabcde\n0\n\n",
        b"\1" + b"5         \r\nabcde\r\n0\r\nA: " + b"b" * 50 + b"\r\n\r\n",
    ]


def run(data: bytes) -> None:
    switches = data[0] if data else 0
    limits = LIMITS[switches & 1]
    options = OPTIONS[(switches >> 1) % len(OPTIONS)]

    def outcome(pieces: list[bytes]) -> tuple[object, ...]:
        reader = ChunkedBody(limits, options)
        out = b""
        try:
            for piece in pieces:
                out += reader.feed(piece)
            reader.close()
        except BodyError as problem:
            return (out + problem.data, problem.status, problem.reason, problem.chunk, problem.endless)
        return out, reader.trailers, reader.rest

    same_for_all_splits(outcome, data[1:])
    same_for_all_splits(lambda pieces: _of_length(pieces, switches), data[1:])
    if data:
        whole = ChunkedBody(HeadLimits(), ParserOptions())
        sent = b"%x\r\n%b\r\n0\r\nA: b\r\n\r\n" % (len(data), data)
        assert whole.feed(sent) == data
        assert whole.done and whole.trailers == Headers([("A", "b")])


def _of_length(pieces: list[bytes], length: int) -> tuple[object, ...]:
    """Return what a reader of a known length makes of the same input."""
    reader = LengthBody(length)
    body = b"".join([reader.feed(piece) for piece in pieces])
    try:
        reader.close()
    except BodyError as problem:
        return body, problem.status
    return body, reader.rest
