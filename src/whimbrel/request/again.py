"""One more use of a kept answer that is sent as any other is: its body is a file."""

from __future__ import annotations

from whimbrel.request.answer import Answer
from whimbrel.request.body import FilePart
from whimbrel.request.engine import Engine
from whimbrel.request.kept import Kept, repeat
from whimbrel.request.raw_head import RawHead
from whimbrel.request.record import Connection


class Again(Answer):
    """See the module; *head* is the request's where it is not the kept one's to the byte, *now* when it came."""

    __slots__ = ("_connection", "_engine", "_kept", "_now", "_requested")

    def __init__(self, kept: Kept, part: FilePart, engine: Engine, connection: Connection, head: RawHead | None, now: float) -> None:
        super().__init__(kept.request, kept.before, kept.after, [part], None, close=kept.close)
        self._kept, self._engine, self._connection, self._requested, self._now = kept, engine, connection, head, now
        self.begun = now

    def head(self, date: bytes) -> bytes:
        """See Answer.head."""
        return self._kept.fields(self._connection, date, self._now)

    def sent(self, count: int, more: int = 0) -> None:
        """Write the log lines; see Answer.sent."""
        engine = self._engine
        repeat(self._kept, self._connection, engine.runtime, self._now, engine.error_log.about_request, self._requested, count, more)
