"""Heads of answers of HTTP/2 back ends: decoded and checked as nghttp2 does, beside h2."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from hpack import Decoder

from whimbrel.base.numbers import strtol, upper
from whimbrel.http.client.answer import ResponseHead
from whimbrel.http.http2.protocol import is_field
from whimbrel.http.semantics.headers import Headers

STATUS: Final = b":status"
_VALUE: Final = re.compile(rb"[1-9][0-9]{2}").fullmatch
_LENGTH: Final = re.compile(rb"[0-9]{1,18}").fullmatch
_SWITCHING: Final = b"101"
_TOKEN: Final = [(STATUS, b"200")]

RawFields = list[tuple[bytes, bytes]]


class AnswerDecoder(Decoder):
    """A decoder of field blocks that keeps the fields and gives h2 no more than the status.

    h2 would end the connection, with the streams of other requests, because of one malformed answer.

    Attributes:
        fields: of the last block, None if they are malformed.
        is_wanted: the block belongs to a stream that has not ended. For others h2 gets a final head, as it
            ends the connection at an interim response to a stream that was reset.
    """

    def __init__(self) -> None:
        super().__init__()
        self.fields: RawFields | None = None
        self.is_wanted = True

    def decode(self, data: bytes, raw: bool = False) -> Iterable[tuple[bytes, bytes]]:  # type: ignore[override]
        """Return what h2 gets of the block *data*; *raw*: as bytes, which is what h2 wants."""
        fields = [(bytes(name), bytes(value)) for name, value in super().decode(data, raw=True)]
        self.fields = fields if is_well_formed(fields) else None
        if self.fields is None or not self.is_wanted:
            return _TOKEN
        return fields[:1] if fields[:1] and fields[0][0] == STATUS else []


def is_well_formed(fields: RawFields) -> bool:
    """Return True if nghttp2 accepts *fields* as a head with a status, or as trailers."""
    lengths = 0
    for at, (name, value) in enumerate(fields):
        if name[:1] == b":":
            if at or name != STATUS or _VALUE(value) is None or value == _SWITCHING:
                return False
        elif not is_field(name, value) or (name == b"te" and value.lower() != b"trailers"):
            return False
        elif name == b"content-length":
            lengths += 1
            if lengths > 1 or _LENGTH(value) is None:
                return False
    return True


def answer_head(fields: RawFields) -> ResponseHead:
    """Return the head of an answer whose first field is the status."""
    out = Headers()
    for name, value in fields[1:]:
        words = name.decode("latin-1").split("-")
        out.add("-".join([upper(word[:1]) + word[1:] for word in words]), value.decode("latin-1"))
    return ResponseHead((1, 1), strtol(fields[0][1].decode("latin-1"))[0], None, out)
