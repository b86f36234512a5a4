"""Answers that were kept, given once more on HTTP/2 streams: most of them without a stream of the h2 package.

A client that asks again sends the same bytes (HPACK's table is as it was), and the answer's fields are the same bytes too within one second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whimbrel.http.http2 import answer_fields, raw_head
from whimbrel.request.kept import Kept
from whimbrel.request.raw_head import RawHead
from whimbrel.server.http2_stream import MAX_HEAD

if TYPE_CHECKING:
    from whimbrel.server.http2 import Http2Connection

WRITE_AHEAD: Final = 256 * 1024  # bytes of answers that are gathered before one is written


class Repeater:
    """Gives the answers of one connection that need no stream of the h2 package: the kept ones, and others that are there at once."""

    def __init__(self, session: Http2Connection) -> None:
        self.session = session

    def at_once(self, data: bytes) -> bytes:
        """Answer the requests at the front of *data* that are whole frames, as long as their answers are there at once; the rest of *data*."""
        session, wire, at, size = self.session, self.session.wire, 0, len(data)
        if session.sender.padding:
            return data
        out = bytearray(wire.data_to_send())
        while size - at >= 9 and data[at + 3] == 1 and data[at + 4] in (0x05, 0x25):
            end = at + 9 + int.from_bytes(data[at:at + 3])
            number = int.from_bytes(data[at + 5:at + 9])
            fields = wire.read(number, data, at, end) if end <= size else None
            if fields is None:
                break
            raw = raw_head(fields, session.push)
            frames = self._kept_frames(number, raw) if raw else b""
            if not frames:
                frames = session.at_once(number, fields, raw, data[at:end], alone=_takes_back(data, end))
                if not frames or len(out) > WRITE_AHEAD:
                    out += frames
                    at = end
                    break
            out += frames
            at = end
        if out:
            session.transport.write(bytes(out))
        return data[at:] if at else data

    def _kept_frames(self, number: int, raw: bytes) -> bytes:
        """The frames of a kept answer, b"" where there is none or no room for it."""
        kept, head = self._kept(raw)
        if kept is None or not self.session.wire.room(kept.size) or kept.size > self.session.sender.largest or kept.head_size > MAX_HEAD:
            return b""
        service, found, wire = self.session.service, kept, self.session.wire
        self._note(kept, head)
        block = wire.block_of(kept, service.date, lambda: answer_fields(found.before, service.date, found.after))
        return wire.answer(number, block, kept.body)

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


def _takes_back(data: bytes, at: int) -> bool:
    """Whether *data* from *at* on, where a frame begins, ends streams: nothing is to be worked on that is taken back in the same breath."""
    while len(data) - at >= 9:
        if data[at + 3] == 3:
            return True
        at += 9 + int.from_bytes(data[at:at + 3])
    return False
