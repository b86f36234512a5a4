"""The fast path of a connection: kept answers to whole heads, given without reading them.

It answers only what the general path answers to the same bytes: nothing but a whole head finds anything (see
`Book`), and nothing of a head that is
cut, or that has no plain form, is ever kept.  What it leaves goes to the general path, whose first head it
did not answer.
"""

from __future__ import annotations

import os
from typing import Final

from whimbrel.http.head import Head
from whimbrel.request.again import Again
from whimbrel.request.body import FilePart
from whimbrel.request.books import Book
from whimbrel.request.kept import Kept
from whimbrel.request.raw_head import Key, Near, RawHead, Told
from whimbrel.server.answering import WRITE_AHEAD, Answering, State
from whimbrel.server.sending import at_once
from whimbrel.server.service import Service

MAX_MISSED: Final = 4     # heads in a row that are not near the last one, after which none is looked for
MAX_NEAR: Final = 4096    # bytes of a head that a connection remembers


class Quick(Answering):
    """See the module."""

    __slots__ = ("_book", "_exact", "_head", "_last", "_missed", "_near")
    _book: Book
    _exact: dict[bytes, Kept]

    def __init__(self, service: Service) -> None:
        super().__init__(service)
        self._head: Head | None = None
        self._near: Near | None = None
        self._last: Key = ()
        self._missed = 0

    def _once_more(self, kept: Kept) -> None:
        """Answer with what this turn of the loop has already answered to the same client and the same bytes (see `_remember`)."""
        service, connection = self.service, self.connection
        for add, line in kept.adders:
            add(line)
        service.requests += 1
        service.sent += kept.size
        self.transport.write(kept.data if kept.slot is None else kept.counted(connection))
        connection.served += 1
        if not self._paused:
            self.deadline = service.clock + self._manners.keep_alive
        if kept.close:
            self._end()

    def _remember(self, kept: Kept, *, alike: bool) -> None:
        """Let *kept* be used without further questions until the end of this turn of the loop, where all its uses have the same bytes and lines.

        What changes on disk meanwhile is seen by the next turn: a fraction of a millisecond later.  *alike*: it was used for a head that is not its
        own to the byte.
        """
        service, connection = self.service, self.connection
        if not kept.steady or (kept.sized and not alike) or connection.user_ip or connection.notes:
            return
        if not kept.adds:
            kept.adds = tuple([service.engine.runtime.log_adder(sink) for sink, _line in kept.writers])
        if not alike:
            self._exact = self._book.exact
            kept.adders = tuple([(add, line) for add, (_sink, line) in zip(kept.adds, kept.lines, strict=True)])
            kept.line_client = connection.client_ip
            kept.turn = service.turn
        elif kept.client is None:
            kept.hot = service.turn

    def _quick(self, data: bytes) -> int:
        """Answer what was kept for the whole heads at the front of *data*; how many bytes of it are done."""
        service, connection = self.service, self.connection
        if service.draining or (self._manners.announces and not connection.served):
            return 0
        if not service.turning:
            service.begin_turn()
        near, told = self._near, None
        kept = self._book.nearly(connection, data, near, service.turn) if near is not None else None
        if kept is not None and near is not None:
            self._missed = 0
            told = (data[:data.index(b"\r\n")], *near.told) if near.queried else near.told
        else:
            kept, told = self._book.find(connection, data, self._manners.limits, service.turn)  # most often there is one head and nothing else
            if self._book.near is not None:
                self._compare(data, told)
        if kept is None:
            return 0 if data.find(b"\r\n\r\n") + 4 == len(data) else self._several(data)
        if kept.file:
            return len(data) if self._once_more_a_file(kept, None if told is None else RawHead(data, told)) else 0
        if told is not None and kept.hot == service.turn and not connection.user_ip and not connection.notes:
            for add, line in zip(kept.adds, kept.lines_for(data, told, connection, service.now), strict=True):
                add(line)
            out = kept.data if kept.slot is None else kept.counted(connection)
        else:
            out = b"" if kept.large else kept.wire(connection, service.date, service.now)
            if out:
                service.engine.repeated(kept, connection, None if told is None else RawHead(data, told))
                self._remember(kept, alike=told is not None)
            else:
                self.transport.writelines((kept.fields(connection, service.date, service.now), kept.payload))
                service.engine.repeated(kept, connection, None if told is None else RawHead(data, told))
        connection.served += 1
        service.requests += 1
        service.sent += kept.size
        if out:
            self.transport.write(out)
        if not self._paused:
            self.deadline = service.clock + self._manners.keep_alive
        if kept.close:
            self._end()
        return len(data)

    def _compare(self, data: bytes, told: Told | None) -> None:
        """Where the answer that `Book.find` gave is that of the last request, too, the line that differed may differ once more."""
        book = self._book
        if book.near is not None:
            (line, key), book.near = book.near, None
            self._missed += self._near is not None
            if self._missed > MAX_MISSED:
                self._near = None  # more than one line differs each time
                return
            if told is not None and self._last == key and len(data) <= MAX_NEAR:
                self._near = Near(data, line, key, told, self._manners.limits.plain)
            self._last = key

    def _several(self, data: bytes) -> int:
        """`_quick` where one head is not all there is: the first, and so many more as this turn and the
        transport have room for.
        """
        service, connection, book, done, size, closes = self.service, self.connection, self._book, 0, 0, False
        out: list[bytes] = []
        while not closes and size < WRITE_AHEAD and (not done or service.takes_more()):
            end = data.find(b"\r\n\r\n", done) + 4
            if end < 4 or end - done == len(data):
                break
            piece = data[done:end]
            kept, head = book.look(connection, piece, self._manners.limits, service.turn)
            if kept is None:
                break
            if kept.file:
                if out:
                    break  # what is there goes out first
                return end if self._once_more_a_file(kept, head) else 0
            if kept.large:
                out += (kept.fields(connection, service.date, service.now), kept.payload)
            else:
                out.append(kept.wire(connection, service.date, service.now))
            size += kept.head_size + len(kept.payload)
            service.engine.repeated(kept, connection, head)
            connection.served += 1
            service.requests += 1
            service.sent += kept.size
            closes = kept.close
            done = end
        if out:
            self.transport.writelines(out)
            if not self._paused:
                self.deadline = service.clock + self._manners.keep_alive
            if closes:
                self._end()
                return len(data)
        return done

    def _once_more_a_file(self, kept: Kept, head: RawHead | None) -> bool:
        """Answer with a file that is as it was; False where it is not, or can't be had."""
        service, connection = self.service, self.connection
        handle = service.files.get(kept.file, kept.stamp)
        if handle < 0:
            return False
        out = None if self._paused or self.transport.get_write_buffer_size() else self._beside()
        fields = kept.fields(connection, service.date, service.now)
        count = 0 if out is None else at_once(out, fields, handle, kept.size)
        if count == len(fields) + kept.size:
            service.engine.repeated(kept, connection, head)
            connection.served += 1
            service.requests += 1
            service.sent += kept.size
            self.deadline = service.clock + self._manners.keep_alive
            if kept.close:
                self._end()
            return True
        try:
            part = FilePart(os.dup(handle), 0, kept.size)
        except OSError:
            if count:
                self.transport.abort()
            return count > 0
        self._state, self._head = State.BUSY, kept.request.head
        self._send_rest(Again(kept, part, service.engine, connection, head, service.now), fields, count)
        return True
