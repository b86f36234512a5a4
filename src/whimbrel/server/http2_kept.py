"""Answers that were kept, given once more on HTTP/2 streams: most of them without a stream of the h2 package.

A client that asks again sends the same bytes (HPACK's table is as it was), and the answer's fields are the same bytes too within one second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.http.http2 import RawField, answer_fields, raw_head
from whimbrel.request.kept import Kept
from whimbrel.request.raw_head import RawHead

if TYPE_CHECKING:
    from whimbrel.server.http2 import Http2Connection


class Repeater:
    """Gives the kept answers of one connection."""

    def __init__(self, session: Http2Connection) -> None:
        self.session = session

    def at_once(self, data: bytes) -> bytes:
        """Answer the requests at the front of *data* whose bytes are known and whose answers are kept; the rest of it."""
        wire, known, at, out = self.session.wire, self.session.wire.known.known, 0, bytearray(self.session.wire.data_to_send())
        while len(data) - at >= 9 and data[at + 3] == 1 and data[at + 4] in (0x05, 0x25):
            end = at + 9 + int.from_bytes(data[at:at + 3])
            number = int.from_bytes(data[at + 5:at + 9])
            fields = known.get(data[at + 9 + (5 if data[at + 4] & 0x20 else 0):end]) if end <= len(data) else None
            if fields is None or number <= wire.highest_inbound_stream_id or not number & 1 or self.session.sender.padding:
                break
            if data[at + 4] & 0x20 and int.from_bytes(data[at + 9:at + 13]) & 0x7FFFFFFF == number:
                break
            frames = self._kept_frames(number, fields)
            if not frames:
                break
            out += frames
            at = end
        if out:
            self.session.transport.write(bytes(out))
        return data[at:] if at else data

    def _kept_frames(self, number: int, fields: list[RawField]) -> bytes:
        """The frames of a kept answer, b"" where there is none or no room for it."""
        raw = raw_head(fields, self.session.wire.client_takes_push)
        kept, head = self._kept(raw) if raw else (None, None)
        if kept is None or not self.session.wire.room(kept.size) or kept.size > self.session.sender.largest:
            return b""
        service, found = self.session.service, kept
        self._note(kept, head)
        return self.session.wire.answer(number, kept, service.date, lambda: answer_fields(found.before, service.date, found.after), kept.body)

    def _note(self, kept: Kept, head: RawHead | None) -> None:
        service = self.session.service
        service.engine.repeated(kept, self.session.connection, head)
        service.requests += 1
        service.sent += kept.size
        self.session.answered += 1
        self.session.resets = self.session.idle = 0

    def _kept(self, raw: bytes) -> tuple[Kept | None, RawHead | None]:
        """What was kept for a head, and the head where it is not the same to the byte."""
        service, connection, limits = self.session.service, self.session.connection, self.session.manners.limits
        service.begin_turn()
        book = service.engine.kept.book(connection.local_ip, connection.local_port)
        kept, head = book.look(connection, raw, limits, service.turn, spare=1)
        if kept is not None:
            kept.renew(service.date, service.now)
        return kept, head

    def quick(self, number: int, raw: bytes) -> bool:
        """Give a kept answer once more, if there is one and the windows have room for it."""
        kept, head = self._kept(raw)
        if kept is None:
            return False
        wire, sender, size = self.session.wire, self.session.sender, kept.size
        if size and sender.fits(number, size) < size:
            return False
        wire.send_headers(number, answer_fields(kept.before, self.session.service.date, kept.after), end_stream=not size)
        if size:
            sender.frame(number, kept.body, end=True)
        self._note(kept, head)
        return True
