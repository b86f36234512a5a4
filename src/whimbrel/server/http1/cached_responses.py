"""Cached responses of a connection of HTTP/1: answers to complete heads, without parsing them.

They are only what the general path answers to the same bytes: only a complete head of plain form is a key of
the response cache (see `CacheIndex`). All other input goes to the general path.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from whimbrel.engine.body import FileSegment
from whimbrel.engine.cache.cached_head import CachedHeadResponse
from whimbrel.engine.cache.entry import CachedResponse, Hit
from whimbrel.engine.cache.index import ResponseCache
from whimbrel.http.syntax.head_shape import SplitHead
from whimbrel.server.http1.send_file import try_send_file
from whimbrel.server.http1.state import BEGIN, BUSY, DONE, READY
from whimbrel.server.worker.accounting import account_hit, account_response

if TYPE_CHECKING:
    from whimbrel.engine.deps.files import StatSignature
    from whimbrel.server.http1.connection import Http1Connection


class CachedResponder:
    """Answers heads from the response cache, or relays them to a back end.

    Attributes:
        index: the cached responses of the connection's address
        by_head: those by the exact bytes of a head; empty if the first response may announce protocols, until
            it is sent
    """

    __slots__ = ("by_head", "index", "sender", "session")

    def __init__(self, session: Http1Connection) -> None:
        connection = session.connection
        self.session = session
        self.sender = session.sender
        self.index = session.service.engine.response_cache.index(
            connection.local_ip, connection.local_port, connection.tls
        )
        self.by_head: dict[bytes, CachedResponse] = {} if session.listener.announces else self.index.by_head

    def disable(self) -> None:
        """Answer nothing more."""
        self.index = ResponseCache().index("", 0)
        self.by_head = self.index.by_head
        self.session.relayer.disable()

    def answer(self, data: bytes) -> bytes:
        """Answer the complete heads at the front of *data*; return the rest, *data* itself if that is all."""
        session = self.session
        service = session.service
        connection = session.connection
        tick = service.tick
        cached = self.by_head.get(data)
        if (
            cached is not None
            and cached.ready_tick == tick
            and cached.ready_client == connection.client_ip
            and connection.served < cached.validity.max_served
            and not connection.useragent_ip
            and not connection.notes
        ):
            self._reply_ready(cached, cached.log.own)
            return b""
        if service.draining:
            return data
        if not service.in_tick:
            service.begin_tick()
        index = self.index
        limits = session.listener.limits
        if self.by_head is not index.by_head:  # the first response may announce protocols
            if not connection.served:
                hit = index.first.lookup(connection, data, limits, tick)
                return b"" if hit is not None and self._reply(hit) else data
            self.by_head = index.by_head
            cached = self.by_head.get(data)
        relayer = session.relayer
        if relayer.table.by_head and relayer.relay(data):
            return b""
        # the usual case: one head and nothing else
        if cached is not None and cached.is_valid(connection, tick):
            return b"" if self._reply((cached, cached.log.own)) else data
        if relayer.table.by_key and relayer.relay_filled(data):
            return b""
        hit = index.find(connection, data, limits, tick)
        if hit is None:
            return data if data.find(b"\r\n\r\n") + 4 == len(data) else self._answer_pipelined(data)
        cached, head = hit
        if (
            cached.ready_tick == tick
            and connection.served >= cached.validity.min_served
            and not connection.useragent_ip
            and not connection.notes
        ):
            self._reply_ready(cached, head)
            return b""
        return b"" if cached.is_valid(connection, tick) and self._reply(hit) else data

    def _answer_pipelined(self, data: bytes) -> bytes:
        """Answer pipelined heads: the first, and as many as this tick and the transport have room for."""
        session = self.session
        service = session.service
        connection = session.connection
        limits = session.listener.limits
        done = 0
        while not done or (not session.is_paused and service.takes_more()):
            end = data.find(b"\r\n\r\n", done) + 4
            if end < 4 or end - done == len(data):
                break
            raw = data[done:end]
            hit = self.index.lookup(connection, raw, limits, service.tick)
            if hit is None:
                break
            template = hit[0].template
            if template.file is not None and done:  # the responses before a file are written first
                self.index.forget_lookup(raw)
                break
            if not self._reply(hit):
                break
            done = end
            if template.file is not None:
                break
            if template.close:
                return b""
        return data[done:] if done else data

    def _reply(self, hit: Hit) -> bool:
        """Answer one request with a valid entry; return False if its file has changed or cannot be opened."""
        cached, head = hit
        template = cached.template
        if template.file is not None:
            return self._gather_file(hit, *template.file)
        session = self.session
        service = session.service
        connection = session.connection
        sender = self.sender
        if template.is_large:
            fields = template.serialize_head(connection.served, service.date, service.now)
            sender.transport.writelines((fields, template.payload))
        else:
            sender.send_small(template.serialize(connection.served, service.date, service.now))
        account_hit(service, connection, connection, hit)
        if not session.is_paused:
            session.deadline = service.clock + session.listener.keep_alive
        if template.close:
            session.last_raw = head[0]
            session.end()
        return True

    def _reply_ready(self, cached: CachedResponse, head: SplitHead) -> None:
        """Answer one request with an entry that is ready in this tick: `_reply` with fewer decisions."""
        session = self.session
        service = session.service
        connection = session.connection
        sender = self.sender
        template = cached.template
        log = cached.log
        date = service.date
        if template.date is not date or template.most is not None:
            data = template.serialize(connection.served, date, service.now)
        elif head is not log.own:
            data = template.sent_head + template.payload
        elif cached.data_date is date:  # as `own_data` does
            data = cached.data
        else:
            data = cached.own_data(date)
        sender.send_small(data)
        service.requests += 1
        service.sent += template.size
        connection.served += 1
        client = connection.client_text
        time = service.log_time
        if head is log.own:  # as `HitLog.append` does
            if log.own_time is not time or log.own_client != client:
                log.render_own(client, time)
            for append, line in log.own_lines:
                append(line)
        else:
            for append, render in log.appenders:
                append(render(head, client, time))
        if not session.is_paused:
            session.deadline = service.clock + session.listener.keep_alive
        if template.close:
            session.last_raw = head[0]
            session.end()

    # bodies that are files ----------------------------------------------------------------------
    def _gather_file(self, hit: Hit, path: bytes, stamp: StatSignature) -> bool:
        """Answer one request with the file at *path* at the end of the tick; return False if its signature is
        not *stamp* any more, or it cannot be opened.

        Until then the connection is busy, so that input waits.
        """
        session = self.session
        service = session.service
        sender = self.sender
        files = service.files
        handle = files.get(path, stamp)
        if handle < 0:
            return False
        if not sender.gathered:
            service.gathering.append(sender)
        sender.after_gathered = partial(self._send_file, hit, handle, files.closed)
        session.change(BEGIN)
        return True

    def _send_file(self, hit: Hit, handle: int, closed: int) -> None:
        """Send a response with a file to the end; *handle* is its descriptor, or a *closed* one's."""
        session = self.session
        service = session.service
        connection = session.connection
        template = hit[0].template
        size = template.size
        fields = template.serialize_head(connection.served, service.date, service.now)
        if session.state is not BUSY:  # the connection was lost
            response = self._file_response(hit, -1)
            account_response(service, connection, response, size, -len(fields) - size)
            return
        session.change(DONE)
        if closed != service.files.closed and template.file is not None:
            handle = service.files.get(*template.file)
        raw = hit[1][0]
        count = 0
        if handle < 0:
            session.input.buffer = raw + session.input.buffer
        else:
            sender = self.sender
            if not session.is_paused and not sender.transport.get_write_buffer_size():
                out = sender.open_socket()
                count = 0 if out is None else try_send_file(out, fields, handle, size)
            if count == len(fields) + size:
                account_hit(service, connection, connection, hit)
                if template.close or service.stopping:
                    session.last_raw = raw
                    session.end()
            else:
                self._send_rest_of_file(hit, handle, fields, count)
        if session.state is READY and (session.input.buffer or session.input.is_ended):
            service.loop.call_soon(session.process)

    def _send_rest_of_file(self, hit: Hit, handle: int, fields: bytes, count: int) -> None:
        """Send a response with a file, of whose *fields* and file *count* bytes were sent; without a
        descriptor for the rest the connection is aborted.
        """
        session = self.session
        sender = self.sender
        session.change(BEGIN)
        try:
            handle = os.dup(handle)
        except OSError:
            session.connection.aborted = True
            sender.transport.abort()
            size = hit[0].template.size
            rest = count - len(fields) - size
            session.on_sent(self._file_response(hit, -1), size, rest, broken=True)
            return
        session.head = session.input.parse(hit[1][0])
        sender.send_rest(self._file_response(hit, handle), fields, count)

    def _file_response(self, hit: Hit, handle: int) -> CachedHeadResponse:
        """Return the response that sends the descriptor *handle*."""
        session = self.session
        part = FileSegment(handle, 0, hit[0].template.size)
        return CachedHeadResponse(hit, part, session.connection, session.service.now)
