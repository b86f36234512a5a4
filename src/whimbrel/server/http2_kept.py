"""Answers that were kept, given once more on HTTP/2 streams: most of them without a stream of the h2 package.

A client that asks again sends the same bytes (HPACK's table is as it was), and the answer's fields are the same bytes too within one second.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from whimbrel.http.http2 import answer_fields, raw_head
from whimbrel.request.kept import Kept
from whimbrel.request.raw_head import RawHead
from whimbrel.server.http2_stream import MAX_HEAD

if TYPE_CHECKING:
    from whimbrel.server.http2 import Http2Connection

WRITE_AHEAD: Final = 256 * 1024  # bytes of answers that are gathered before one is written


class Same:
    """A kept answer, the fields that it was the answer to, and what it takes to give it once more before anything else has happened."""

    __slots__ = ("adders", "block", "fields", "kept")

    def __init__(self, kept: Kept, fields: list[Any], block: bytes, adders: list[tuple[Callable[[bytes], None], bytes]]) -> None:
        self.kept, self.fields, self.block, self.adders = kept, fields, block, adders


class Repeater:
    """Gives the answers of one connection that need no stream of the h2 package: the kept ones, and others that are there at once.

    The fields of a request that comes again are the same object (http2_wire.Remembering): *fields* are those whose `raw_head` is *raw*.
    """

    def __init__(self, session: Http2Connection) -> None:
        self.session = session
        self._fields: list[Any] = []
        self._raw = b""
        self._push = False
        self._same: Same | None = None  # the last answer of this piece of data, where it was a kept one

    def at_once(self, data: bytes) -> bytes:
        """Answer the requests at the front of *data* that are whole frames, as long as their answers are there at once; the rest of *data*."""
        session, wire, at, size, self._same = self.session, self.session.wire, 0, len(data), None
        if session.sender.padding:
            return data
        out = bytearray(wire.data_to_send())
        while size - at >= 9 and data[at + 3] == 1 and data[at + 4] in (0x05, 0x25):
            end = at + 9 + int.from_bytes(data[at:at + 3])
            number = int.from_bytes(data[at + 5:at + 9])
            fields = wire.read(number, data, at, end) if end <= size else None
            if fields is None:
                break
            same = self._same
            if same is not None and same.fields is fields and same.kept.size <= wire.outbound_flow_control_window:
                out += self._once_more(number, same)
                at = end
                continue
            self._same = None
            raw = self._raw_head(fields)
            frames = self._kept_frames(number, fields, raw, more=end < size) if raw else b""
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

    def _raw_head(self, fields: list[Any]) -> bytes:
        push = self.session.push
        if fields is not self._fields or push is not self._push:
            self._fields, self._push, self._raw = fields, push, raw_head(fields, push)
        return self._raw

    def _once_more(self, number: int, same: Same) -> bytes:
        """The frames of what was just answered to the same fields."""
        session, kept = self.session, same.kept
        for add, line in same.adders:
            add(line)
        session.service.requests += 1
        session.service.sent += kept.size
        session.answered += 1
        return session.wire.answer(number, same.block, kept.body)

    def _kept_frames(self, number: int, fields: list[Any], raw: bytes, *, more: bool) -> bytes:
        """The frames of a kept answer, b"" where there is none or no room for it; *more*: another request may follow."""
        kept, head = self._kept(raw)
        if kept is None or not self.session.wire.room(kept.size) or kept.size > self.session.sender.largest or kept.head_size > MAX_HEAD:
            return b""
        service, found, wire = self.session.service, kept, self.session.wire
        self._note(kept, head)
        block = wire.block_of(kept, service.date, lambda: answer_fields(found.before, service.date, found.after))
        connection = self.session.connection
        if more and head is None and kept.steady and not connection.user_ip and not connection.notes:
            if not kept.adds:
                kept.adds = tuple([service.engine.runtime.log_adder(sink) for sink, _line in kept.writers])
            self._same = Same(kept, fields, block, [(add, line) for add, (_sink, line) in zip(kept.adds, kept.lines, strict=True)])
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
