"""SCGI: the request as a netstring and a reader of answers, as mod_proxy_scgi uses them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from whimbrel.backends.script_lines import MAX_HEAD, MAX_LINE, next_line, script_head
from whimbrel.base.latin1 import to_bytes
from whimbrel.http.client.answer import TIMEOUT, AnswerReader, BackendError, BackendMessage

_DROPPED: Final = frozenset(("GATEWAY_INTERFACE", "CONTENT_LENGTH", "SCGI"))


def request_bytes(variables: Iterable[tuple[str, str]], length: int) -> bytes:
    """Return the request head: CONTENT_LENGTH and SCGI first, then *variables* in their order."""
    pairs = [("CONTENT_LENGTH", str(length)), ("SCGI", "1")]
    pairs += [pair for pair in variables if pair[0] not in _DROPPED]
    text = "".join(f"{name.partition(chr(0))[0]}\0{value.partition(chr(0))[0]}\0" for name, value in pairs)
    content = to_bytes(text)
    return b"%d:%b," % (len(content), content)


class ScgiReader(AnswerReader):
    """Reads the answer to one request: a script head, then a body until the end of the connection.

    Attributes:
        is_late: the program has not written its head in time.
    """

    __slots__ = ("_data", "_lines", "_size", "is_late")

    def __init__(self) -> None:
        super().__init__()
        self._data: bytearray | None = bytearray()  # input before the end of the head
        self._lines: list[str] = []
        self._size = 0
        self.is_late = False

    def feed(self, data: bytes) -> None:
        head = self._data
        if head is None:
            self._add(data)
            return
        head += data
        before = len(head)
        while (line := next_line(head)) is not None:
            self._lines.append(line)
            if not line.partition("\0")[0].replace("\r", ""):
                self._complete(head)
                return
        self._size += before - len(head)
        if self._size > MAX_HEAD or len(head) >= MAX_LINE:
            self._complete(head)

    def eof(self, cause: str = "") -> None:
        if self._data is None and cause:
            line = BackendMessage("error", "", "error reading response", cause, "proxy_scgi")
            raise BackendError(502, line)
        if self._data is not None:
            self.is_late = cause == TIMEOUT
            self._complete(bytearray())
        self._end()

    def _complete(self, rest: bytearray) -> None:
        self.head = script_head(self._lines)
        self._data = None
        self._add(bytes(rest))
