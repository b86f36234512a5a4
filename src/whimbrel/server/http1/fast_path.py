"""Fast path of a connection: cached responses to complete heads, without parsing them.

It answers only what the general path answers to the same bytes: only a complete head of plain form is a key
of the response cache (see `CacheIndex`). All other input goes to the general path.
"""

from __future__ import annotations

import os

from whimbrel.engine.body import FileSegment
from whimbrel.engine.cache.cached_file import CachedFileResponse
from whimbrel.engine.cache.entry import CachedResponse
from whimbrel.engine.cache.index import CacheIndex
from whimbrel.http.syntax.head_shape import SplitHead
from whimbrel.server.http1.relay_path import RelayPath
from whimbrel.server.http1.send_file import try_send_file
from whimbrel.server.http1.writer import BUSY, READY
from whimbrel.server.worker.accounting import account_hit, account_response
from whimbrel.server.worker.state import FOREVER, WorkerState


class FastPath(RelayPath):
    """Protocol base that answers from the response cache."""

    __slots__ = ("_index", "_by_head")
    _index: CacheIndex
    _by_head: dict[bytes, CachedResponse]

    def _reply(self, cached: CachedResponse, head: SplitHead | None) -> None:
        """Answer one request with a valid entry; for *head* see `account_hit`."""
        service = self.service
        connection = self.connection
        if cached.large:
            fields = cached.serialize_head(connection, service.date, service.now)
            self.transport.writelines((fields, cached.payload))
        else:
            if cached.ready_tick == service.tick and cached.keepalive_slot is None:
                data = cached.data or cached.joined_data()
            else:
                data = cached.serialize(connection, service.date, service.now)
            if self._gathered:
                self._gather(data)
            else:  # as `_gather` does
                self._gathered = data
                service.gathering.append(self)
        account_hit(service, connection, connection, cached, head)
        if not self._paused:
            self.deadline = service.clock + self._listener.keep_alive
        if cached.close:
            self._last_raw = cached.head.raw if head is None else head[0]
            self._end()

    def _reply_ready(self, service: WorkerState, cached: CachedResponse, head: SplitHead) -> None:
        """Answer one request with an entry that is ready in this tick (`ready_tick_any_head`); the same as
        `_reply`, with fewer decisions.
        """
        connection = self.connection
        if cached.date is service.date and cached.keepalive_slot is None and cached.sent_head:
            data = cached.sent_head + cached.payload
        else:
            data = cached.serialize(connection, service.date, service.now)
        if self._gathered:
            self._gather(data)
        else:
            self._gathered = data
            service.gathering.append(self)
        service.requests += 1
        service.sent += cached.size
        connection.served += 1
        for add, line in cached.loggers:
            add(line(head, connection.client_text, service.log_time))
        if not self._paused:
            self.deadline = service.clock + self._listener.keep_alive
        if cached.close:
            self._last_raw = head[0]
            self._end()

    def _try_cache(self, data: bytes, cached: CachedResponse | None) -> int:
        """Answer the complete heads at the front of *data* from the cache; return the number of bytes
        consumed.

        *cached* is what `_by_head` has for *data*.
        """
        service = self.service
        connection = self.connection
        index = self._index
        head = None
        tick = service.tick
        if service.draining:
            return 0
        if not service.in_tick:
            service.begin_tick()
        if self._by_head is not index.by_head:  # the first response may announce protocols
            if not connection.served:
                return self._try_first(data)
            self._by_head = index.by_head
            cached = self._by_head.get(data)
        if self._relays:
            relayed = self._relays.get(data)
            if (
                relayed is not None
                and relayed.is_valid(connection, service.engine.plans, tick)
                and self._relay(relayed)
            ):
                return len(data)
        # the usual case: one head and nothing else
        if cached is None or not cached.is_valid(connection, tick):
            cached, head = index.find(connection, data, self._listener.limits, tick)
            if cached is None:
                return 0 if data.find(b"\r\n\r\n") + 4 == len(data) else self._try_cache_pipelined(data)
            if (
                cached.ready_tick_any_head == tick
                and head is not None
                and connection.served >= cached.min_served
                and not connection.useragent_ip
                and not connection.notes
            ):
                self._reply_ready(service, cached, head)
                return len(data)
            if not cached.is_valid(connection, tick):
                return 0
        if cached.file:
            return len(data) if self._reply_file(cached, head) else 0
        self._reply(cached, head)
        return len(data)

    def _try_first(self, data: bytes) -> int:
        """Answer the first request of a connection, whose response may announce protocols; return the number
        of bytes consumed.
        """
        service = self.service
        first = self._index.first
        limits = self._listener.limits
        cached, head = first.lookup(self.connection, data, limits, service.tick)
        if cached is None:
            return 0
        if cached.file:
            return len(data) if self._reply_file(cached, head) else 0
        self._reply(cached, head)
        return len(data)

    def _try_cache_pipelined(self, data: bytes) -> int:
        """Answer pipelined heads from the cache: the first, and as many as this tick and the transport have
        room for.
        """
        service = self.service
        connection = self.connection
        done = 0
        while not done or (not self._paused and service.takes_more()):
            end = data.find(b"\r\n\r\n", done) + 4
            if end < 4 or end - done == len(data):
                break
            cached, head = self._index.lookup(connection, data[done:end], self._listener.limits, service.tick)
            if cached is None:
                break
            if cached.file:
                # the responses before it are written first
                return end if not done and self._reply_file(cached, head) else done
            self._reply(cached, head)
            if cached.close:
                return len(data)
            done = end
        return done

    def _reply_file(self, cached: CachedResponse, head: SplitHead | None) -> bool:
        """Answer one request with an entry whose body is a file at the end of the tick; return False if the
        file has changed or cannot be opened.

        Until then the connection is busy, so that input waits.
        """
        service = self.service
        files = service.files
        handle = files.get(cached.file, cached.stamp)
        if handle < 0:
            return False
        if not self._gathered:
            service.gathering.append(self)
        self._gathered_file = (cached, head, handle, files.closed)
        self._state = BUSY
        self.deadline = FOREVER
        return True

    def _send_gathered_file(
        self, cached: CachedResponse, head: SplitHead | None, handle: int, closed: int
    ) -> None:
        """See ResponseWriter._send_gathered_file."""
        service = self.service
        connection = self.connection
        fields = cached.serialize_head(connection, service.date, service.now)
        if self._state is not BUSY:  # the connection was lost
            response = self._file_response(cached, head, -1)
            account_response(service, connection, response, cached.size, -len(fields) - cached.size)
            return
        self._state = READY
        if closed != service.files.closed:
            handle = service.files.get(cached.file, cached.stamp)
        raw = cached.head.raw if head is None else head[0]
        count = 0
        if handle < 0:
            self._buffer = raw + self._buffer
        else:
            if not self._paused and not self._transport.get_write_buffer_size():
                out = self._dup_socket()
                count = 0 if out is None else try_send_file(out, fields, handle, cached.size)
            if count == len(fields) + cached.size:
                self._on_file_sent(cached, head, raw)
            else:
                self._send_rest_of_file(cached, head, handle, fields, count)
        if self._state is READY and (self._buffer or self._eof):
            service.loop.call_soon(self._process_buffer)

    def _on_file_sent(self, cached: CachedResponse, head: SplitHead | None, raw: bytes) -> None:
        """Account for a file that was sent as a whole in response to the head *raw*."""
        service = self.service
        connection = self.connection
        account_hit(service, connection, connection, cached, head)
        self.deadline = service.clock + self._listener.keep_alive
        if cached.close or service.stopping:
            self._last_raw = raw
            self._end()

    def _send_rest_of_file(
        self, cached: CachedResponse, head: SplitHead | None, handle: int, fields: bytes, count: int
    ) -> None:
        """Send a response with a file, of whose *fields* and file *count* bytes were sent; without a
        descriptor for the rest the connection is aborted.
        """
        self._state = BUSY
        try:
            handle = os.dup(handle)
        except OSError:
            self.connection.aborted = True
            self.transport.abort()
            rest = count - len(fields) - cached.size
            self._on_sent(self._file_response(cached, head, -1), cached.size, rest, broken=True)
            return
        self._head = self._parsed(cached.head.raw if head is None else head[0])
        self._send_rest(self._file_response(cached, head, handle), fields, count)

    def _file_response(
        self, cached: CachedResponse, head: SplitHead | None, handle: int
    ) -> CachedFileResponse:
        """Return the response that sends the descriptor *handle*."""
        service = self.service
        part = FileSegment(handle, 0, cached.size)
        return CachedFileResponse(cached, part, service.engine, self.connection, head, service.now)
