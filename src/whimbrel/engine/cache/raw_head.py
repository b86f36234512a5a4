"""Heads of requests that are not parsed: their form, and their fields as log lines read them."""

from __future__ import annotations

import re
from typing import Final

from whimbrel.base.latin1 import to_text

_WORD: Final = rb"[!-~\x80-\xff]++"
_FIELD_LINES: Final = rb"(?:[-!#$%&'*+.^_`|~0-9A-Za-z]++:[\t -~\x80-\xff]*+\r\n)*\r\n"
_FORM: Final = re.compile(
    rb"(?:%b %b HTTP/1\.[01]|\0[01](?: %b){4} HTTP/2\.0)\r\n%b" % (_WORD, _WORD, _WORD, _FIELD_LINES)
).fullmatch


def has_plain_form(raw: bytes) -> bool:
    """Return True if *raw* is a complete head that every parser delimits and splits alike, under all
    HttpProtocolOptions.

    Only such a head may be a key: a request line of three words and well-formed field lines, none folded, all
    ending in CR LF.
    """
    return _FORM(raw) is not None


class RawHead:
    """The bytes of one head; its fields are found without parsing."""

    __slots__ = ("_low", "raw")

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self._low = b""

    @property
    def line(self) -> str:
        """Return the request line as the access log shows it."""
        return to_text(shown_line(self.raw[: self.raw.index(b"\r\n")]))

    @property
    def url(self) -> None:
        """None: the target is in origin form without a fragment."""
        return None

    @property
    def headers(self) -> RawHead:
        """Return the fields."""
        return self

    def get(self, name: str, default: str | None = None) -> str | None:
        """Return the value of a field; several values are joined."""
        low = self._low
        if not low:
            low = self.raw.lower()
            self._low = low
        start = b"\r\n%b:" % name.lower().encode("latin-1")
        at = low.find(start)
        values = []
        while at >= 0:
            at += len(start)
            values.append(self.raw[at : low.find(b"\r\n", at)].strip(b" \t"))
            at = low.find(start, at)
        # HTTP/2 splits cookies (RFC 9113, 8.2.3)
        joint = b"; " if start[2:-1] == b"cookie" and self.raw[:1] == b"\0" else b", "
        return to_text(joint.join(values)) if values else default


def shown_line(line: bytes) -> bytes:
    """Return the first line of a head as the access log shows it: HTTP/2 has more words."""
    if line[:1] != b"\0":
        return line
    _push, method, _scheme, target, _authority, protocol = line.split(b" ")
    return b"%b %b %b" % (method, target, protocol)
