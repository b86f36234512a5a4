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
from whimbrel.server.http1.writer import WRITE_AHEAD, ConnectionState, ResponseWriter
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

    def _replay(self, cached: CachedResponse) -> None:
        """Repeat a response that was sent in this tick to the same client and the same bytes (see
        `_promote`).
        """
        service, connection = self.service, self.connection
        for add, line in cached.adders:
            add(line)
        service.requests += 1
        service.sent += cached.size
        self.transport.write(
            cached.data if cached.keepalive_slot is None else cached.with_keepalive(connection)
        )
        connection.served += 1
        if not self._paused:
            self.deadline = service.clock + self._listener.keep_alive
        if cached.close:
            self._end()

    def _promote(self, cached: CachedResponse, *, alike: bool) -> None:
        """Let *cached* be used without validation until the end of this tick, if all its uses have the same
        bytes and lines.

        The next tick, a fraction of a millisecond later, sees changes on disk. *alike*: the head differs in
        bytes from the cached one.
        """
        service, connection = self.service, self.connection
        if (
            not cached.is_log_line_stable
            or (cached.log_shows_size and not alike)
            or connection.useragent_ip
            or connection.notes
        ):
            return
        if not cached.adds:
            cached.adds = tuple([service.engine.runtime.log_appender(sink) for sink, _line in cached.writers])
        if not alike:
            self._by_head = self._index.by_head
            cached.adders = tuple(
                [(add, line) for add, (_sink, line) in zip(cached.adds, cached.lines, strict=True)]
            )
            cached.line_client = connection.client_ip
            cached.ready_tick = service.tick
        elif cached.client is None:
            cached.ready_tick_any_head = service.tick

    def _try_cache(self, data: bytes) -> int:
        """Answer the complete heads at the front of *data* from the cache; return the number of bytes
        consumed.
        """
        service, connection = self.service, self.connection
        if service.draining or (self._listener.announces and not connection.served):
            return 0
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
            return (
                len(data)
                if self._replay_file(cached, None if logged is None else RawHead(data, logged))
                else 0
            )
        if (
            logged is not None
            and cached.ready_tick_any_head == service.tick
            and not connection.useragent_ip
            and not connection.notes
        ):
            for add, line in zip(
                cached.adds, cached.render_logs(data, logged, connection, service.now), strict=True
            ):
                add(line)
            out = cached.data if cached.keepalive_slot is None else cached.with_keepalive(connection)
        else:
            out = b"" if cached.large else cached.serialize(connection, service.date, service.now)
            if out:
                service.engine.log_hit(cached, connection, None if logged is None else RawHead(data, logged))
                self._promote(cached, alike=logged is not None)
            else:
                self.transport.writelines(
                    (cached.serialize_head(connection, service.date, service.now), cached.payload)
                )
                service.engine.log_hit(cached, connection, None if logged is None else RawHead(data, logged))
        connection.served += 1
        service.requests += 1
        service.sent += cached.size
        if out:
            self.transport.write(out)
        if not self._paused:
            self.deadline = service.clock + self._listener.keep_alive
        if cached.close:
            self._end()
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
        service, connection, index, done, size, closes = (
            self.service,
            self.connection,
            self._index,
            0,
            0,
            False,
        )
        out: list[bytes] = []
        while not closes and size < WRITE_AHEAD and (not done or service.takes_more()):
            end = data.find(b"\r\n\r\n", done) + 4
            if end < 4 or end - done == len(data):
                break
            piece = data[done:end]
            cached, head = index.lookup(connection, piece, self._listener.limits, service.tick)
            if cached is None:
                break
            if cached.file:
                if out:
                    break  # write the gathered responses first
                return end if self._replay_file(cached, head) else 0
            if cached.large:
                out += (cached.serialize_head(connection, service.date, service.now), cached.payload)
            else:
                out.append(cached.serialize(connection, service.date, service.now))
            size += cached.head_size + len(cached.payload)
            service.engine.log_hit(cached, connection, head)
            connection.served += 1
            service.requests += 1
            service.sent += cached.size
            closes = cached.close
            done = end
        if out:
            self.transport.writelines(out)
            if not self._paused:
                self.deadline = service.clock + self._listener.keep_alive
            if closes:
                self._end()
                return len(data)
        return done

    def _replay_file(self, cached: CachedResponse, head: RawHead | None) -> bool:
        """Send a cached file response; return False if the file has changed or cannot be opened."""
        service, connection = self.service, self.connection
        handle = service.files.get(cached.file, cached.stamp)
        if handle < 0:
            return False
        out = None if self._paused or self.transport.get_write_buffer_size() else self._dup_socket()
        fields = cached.serialize_head(connection, service.date, service.now)
        count = 0 if out is None else try_send_file(out, fields, handle, cached.size)
        if count == len(fields) + cached.size:
            service.engine.log_hit(cached, connection, head)
            connection.served += 1
            service.requests += 1
            service.sent += cached.size
            self.deadline = service.clock + self._listener.keep_alive
            if cached.close:
                self._end()
            return True
        try:
            part = FileSegment(os.dup(handle), 0, cached.size)
        except OSError:
            if count:
                self.transport.abort()
            return count > 0
        self._state, self._head = ConnectionState.BUSY, cached.request.head
        self._send_rest(
            CachedFileResponse(cached, part, service.engine, connection, head, service.now), fields, count
        )
        return True
