"""Fast path of a connection: cached responses to complete heads, without parsing them.

It answers only what the general path answers to the same bytes: only a complete head of plain form is a key
of the response cache (see `CacheIndex`). All other input goes to the general path.
"""

from __future__ import annotations

import os
from typing import Final

from whimbrel.engine.body import FileSegment
from whimbrel.engine.cache.cached_file import CachedFileResponse
from whimbrel.engine.cache.entry import CachedResponse
from whimbrel.engine.cache.index import CacheIndex
from whimbrel.engine.cache.key import HeadPattern, Key, LoggedLines, RawHead
from whimbrel.http.syntax.head import Head
from whimbrel.server.http1.send_file import try_send_file
from whimbrel.server.http1.writer import ConnectionState, ResponseWriter
from whimbrel.server.worker.accounting import account_hit
from whimbrel.server.worker.state import WorkerState

MAX_MISSED: Final = 4  # consecutive heads unlike the last one, after which patterns are not tried
MAX_PATTERN: Final = 4096  # bytes of a head that a connection remembers


class FastPath(ResponseWriter):
    """Protocol base that answers from the response cache."""

    __slots__ = ("_index", "_by_head", "_head", "_last", "_missed", "_pattern")
    _index: CacheIndex
    _by_head: dict[bytes, CachedResponse]

    def __init__(self, service: WorkerState) -> None:
        super().__init__(service)
        self._head: Head | None = None
        self._pattern: HeadPattern | None = None
        self._last: Key = ()
        self._missed = 0

    def _reply(
        self,
        cached: CachedResponse,
        data: bytes,
        logged: LoggedLines | None,
        *,
        is_sent: bool = False,
    ) -> None:
        """Answer one request with a valid entry; *is_sent*: its bytes are sent already.

        For *data* and *logged* see `account_hit`.
        """
        service, connection = self.service, self.connection
        if cached.ready_tick == service.tick and cached.keepalive_slot is None:
            self.transport.write(cached.data)
        elif not is_sent:
            if cached.large:
                head = cached.serialize_head(connection, service.date, service.now)
                self.transport.writelines((head, cached.payload))
            else:
                self.transport.write(cached.serialize(connection, service.date, service.now))
        account_hit(service, connection, connection, cached, data, logged)
        if not self._paused:
            self.deadline = service.clock + self._listener.keep_alive
        if cached.close:
            self._end()

    def _try_cache(self, data: bytes) -> int:
        """Answer the complete heads at the front of *data* from the cache; return the number of bytes
        consumed.
        """
        service, connection = self.service, self.connection
        if service.draining or (self._listener.announces and not connection.served):
            return 0
        self._by_head = self._index.by_head
        if not service.in_tick:
            service.begin_tick()
        pattern, logged = self._pattern, None
        cached = (
            self._index.lookup_pattern(connection, data, pattern, service.tick)
            if pattern is not None
            else None
        )
        if cached is not None and pattern is not None:
            self._missed = 0
            logged = (data[: data.index(b"\r\n")], *pattern.logged) if pattern.queried else pattern.logged
        else:
            # the usual case: one head and nothing else
            cached, logged = self._index.lookup_raw(connection, data, self._listener.limits, service.tick)
            if self._index.pattern_candidate is not None:
                self._learn_pattern(data, logged)
        if cached is None:
            return 0 if data.find(b"\r\n\r\n") + 4 == len(data) else self._try_cache_pipelined(data)
        if cached.file:
            return len(data) if self._reply_file(cached, data, logged) else 0
        self._reply(cached, data, logged)
        return len(data)

    def _learn_pattern(self, data: bytes, logged: LoggedLines | None) -> None:
        """Remember the line in which this head differs from the last one with the same response."""
        index = self._index
        if index.pattern_candidate is not None:
            (line, key), index.pattern_candidate = index.pattern_candidate, None
            self._missed += self._pattern is not None
            if self._missed > MAX_MISSED:
                self._pattern = None  # more than one line differs each time
                return
            if logged is not None and self._last == key and len(data) <= MAX_PATTERN:
                self._pattern = HeadPattern(data, line, key, logged, self._listener.limits.plain)
            self._last = key

    def _try_cache_pipelined(self, data: bytes) -> int:
        """Answer pipelined heads from the cache: the first, and as many as this tick and the transport have
        room for.
        """
        service, connection, done = self.service, self.connection, 0
        while not done or (not self._paused and service.takes_more()):
            end = data.find(b"\r\n\r\n", done) + 4
            if end < 4 or end - done == len(data):
                break
            head = data[done:end]
            cached, logged = self._index.lookup_raw(connection, head, self._listener.limits, service.tick)
            if cached is None:
                break
            if cached.file:
                # the responses before it are written first
                return end if not done and self._reply_file(cached, head, logged) else done
            self._reply(cached, head, logged)
            if cached.close:
                return len(data)
            done = end
        return done

    def _reply_file(self, cached: CachedResponse, data: bytes, logged: LoggedLines | None) -> bool:
        """Answer one request with an entry whose body is a file; return False if the file has changed or
        cannot be opened.
        """
        service, connection = self.service, self.connection
        handle = service.files.get(cached.file, cached.stamp)
        if handle < 0:
            return False
        out = None if self._paused or self.transport.get_write_buffer_size() else self._dup_socket()
        fields = cached.serialize_head(connection, service.date, service.now)
        count = 0 if out is None else try_send_file(out, fields, handle, cached.size)
        if count == len(fields) + cached.size:
            self._reply(cached, data, logged, is_sent=True)
            return True
        try:
            part = FileSegment(os.dup(handle), 0, cached.size)
        except OSError:
            if count:
                self.transport.abort()
            return count > 0
        self._state, self._head = ConnectionState.BUSY, cached.request.head
        head = None if logged is None else RawHead(data, logged)
        self._send_rest(
            CachedFileResponse(cached, part, service.engine, connection, head, service.now), fields, count
        )
        return True
