"""Relayed requests to HTTP back ends: an answer is known by its head without the value of Date."""

from __future__ import annotations

from typing import Final

from whimbrel.http.semantics.dates import format_http, parse_http
from whimbrel.modules.proxy.mod_proxy.relayed import MAX_PARTIAL, RelayedExchange

DATE: Final = b"\r\nDate: "
_DATE_START: Final = len(DATE)
_DATE_END: Final = _DATE_START + 29  # of an IMF-fixdate
_UNSAFE: Final = b"\r\nwarning:"  # a field whose meaning depends on Date, in lower case


def split_date(head: bytes) -> tuple[bytes, bytes]:
    """Return *head* without the value of the first Date, which is taken to be as long as a date; and that
    value.
    """
    at = head.find(DATE)
    if at < 0:
        return head, b""
    return head[: at + _DATE_START] + head[at + _DATE_END :], head[at + _DATE_START : at + _DATE_END]


def answer_key(head: bytes) -> bytes | None:
    """Return what a head has in common with those that differ in Date alone; None if a client may get more of
    the date than this field, or the field in another form.
    """
    key, date = split_date(head)
    if (date and (not is_canonical(date) or DATE + b"\r\n" not in key)) or _UNSAFE in key.lower():
        return None
    return key


def is_canonical(date: bytes) -> bool:
    """Return True if *date* is a date in the form that clients get (response_head.canonical_date)."""
    text = date.decode("latin-1")
    seconds = parse_http(text)
    return seconds is not None and format_http(seconds) == text


class LastDate:
    """The last date that was canonical: back ends send the same for a second."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = b""

    def accepts(self, date: bytes) -> bool:
        """Return True if *date* is canonical."""
        if date != self.value:
            if not is_canonical(date):
                return False
            self.value = date
        return True


class HttpRelayed(RelayedExchange):
    """The exchange of one relayed request; *dates*: of all answers to it."""

    __slots__ = ("dates",)
    dates: LastDate

    def receive(self, data: bytes) -> bool:
        """See RelayedExchange."""
        request = self.request
        last = self.request.last
        if self.data:
            data = self.data + data
        if last is not None and len(data) == last[1] and data.startswith(last[0]):
            head, _size, self.reply, response_head = last
            body = data[len(head) :]
            self.body = body
            self.pass_on(response_head + body, is_reusable=True)
            return True
        stop = data.find(b"\r\n\r\n") + 4
        if stop < 4:
            return False
        head = data[:stop]
        key, date = split_date(head)
        reply = request.replies.get(key)
        if reply is None or (date and not self.dates.accepts(date)):
            return False
        missing = stop + reply.size - len(data)
        if missing:
            if missing < 0 or stop + reply.size > MAX_PARTIAL or reply.chunked:
                return False
            self.wait_for_rest(data)
            return True
        self.body = data[stop:]
        self.reply = reply
        self.date = date
        request.remember(head, len(data), reply, date)
        self.pass_on(b"", is_reusable=True)
        return True
