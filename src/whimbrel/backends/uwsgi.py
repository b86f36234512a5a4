"""The uwsgi protocol: the packet of variables and a reader of answers, as mod_proxy_uwsgi uses them.

The answer begins with a status line of HTTP; its body ends with the connection, whatever its fields are.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable
from typing import Final

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.numbers import BLANKS
from whimbrel.http.client.answer import AnswerReader, BackendError, BackendMessage, ResponseHead
from whimbrel.http.client.head_lines import HeadLine, HeadLines
from whimbrel.http.client.response_reader import MAX_HEAD
from whimbrel.http.semantics.headers import Headers

MAX_PACKET: Final = 65535
LINE_SIZE: Final = 8192  # HUGE_STRING_LEN
_STATUS_LINE: Final = re.compile(r"HTTP/([0-9])(?:\.([0-9]))? ([0-9]{3})").match
_NAME: Final = re.compile(r"[-!#$%&'*+.^_`|~0-9A-Za-z]*").fullmatch
_BAD_VALUE: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]").search


def request_bytes(
    variables: Iterable[tuple[str, str]], server: str, *, modifier1: int = 0, modifier2: int = 0
) -> bytes:
    """Return the packet with *variables*; httpd's modifiers are 0.

    Raises BackendError if it is too large; *server* (``127.0.0.1:3031``) is for the message.
    """
    packet = b"".join(
        [
            _string(to_bytes(name.partition("\0")[0])) + _string(to_bytes(value.partition("\0")[0]))
            for name, value in variables
        ]
    )
    if len(packet) > MAX_PACKET:
        words = f"can't send headers to {server}: packet size too large ({len(packet)})"
        raise BackendError(500, BackendMessage("error", "AH10259", words, "", "proxy_uwsgi"))
    return struct.pack("<BHB", modifier1, len(packet), modifier2) + packet


def _string(value: bytes) -> bytes:
    return (len(value) & 0xFFFF).to_bytes(2, "little") + value


class UwsgiReader(AnswerReader):
    """Reads the answer to one request.  httpd logs nothing about the answers that it refuses."""

    __slots__ = ("_head", "_lines")

    def __init__(self) -> None:
        super().__init__()
        self._lines: HeadLines | None = HeadLines(LINE_SIZE)
        self._head: ResponseHead | None = None  # incomplete

    def feed(self, data: bytes) -> None:
        lines = self._lines
        if lines is None:
            self._add(data)
            return
        lines.feed(data)
        self._read(lines, ended=False)

    def eof(self, cause: str = "") -> None:
        lines = self._lines
        if lines is not None:
            self._read(lines, ended=True)
        if self.head is None:
            raise BackendError(500 if self._head is None else 502)
        if cause:
            raise BackendError(502)
        self._end()

    def _read(self, lines: HeadLines, *, ended: bool) -> None:
        while self.head is None:
            line = lines.next(fold=True, skip=False, ended=ended)
            if line is None:
                return
            if self._head is None:
                self._head = _status_line(line)
            elif not line.text and not line.has_nul:
                self.head, self._lines = self._head, None
                self._add(lines.rest())
            else:
                self._head.fields.add(*_field(line))
            if lines.at > MAX_HEAD and self.head is None:
                raise BackendError(502)


def _status_line(line: HeadLine) -> ResponseHead:
    if not line.text or line.is_long or line.has_nul:
        raise BackendError(500)
    match = _STATUS_LINE(line.text)
    if match is None:
        raise BackendError(502)
    end = match.end()
    reason = line.text[end + 1 :] if line.text[end : end + 1] in ("", " ") else None
    return ResponseHead((int(match[1]), int(match[2] or 0)), int(match[3]), reason, Headers())


def _field(line: HeadLine) -> tuple[str, str]:
    name, colon, value = line.text.partition(":")
    value = value.strip(BLANKS)
    if line.is_long or line.has_nul or not colon or not _NAME(name) or _BAD_VALUE(value):
        raise BackendError(502)
    return name, value
