"""One request on a stream of an HTTP/2 back end, and its answer (h2_proxy_session.c)."""

from __future__ import annotations

import asyncio
from typing import Final

from whimbrel.base.numbers import lower
from whimbrel.engine.body import Aborted
from whimbrel.engine.coroutines import Driver, Suspended, drive, run_until_suspended
from whimbrel.engine.live_source import FLUSH_WAIT, LiveSource
from whimbrel.engine.request import Request
from whimbrel.http.client.response_reader import MAX_INTERIM
from whimbrel.http.http1.chunked import BodyError
from whimbrel.http.http2.protocol import ONE_HOP
from whimbrel.http.semantics.headers import Headers
from whimbrel.modules.proxy.mod_proxy.backend import WorkerBackend
from whimbrel.modules.proxy.mod_proxy.scheme import ProxyCall
from whimbrel.modules.proxy.mod_proxy_http.request_head import via_value
from whimbrel.modules.proxy.mod_proxy_http.response_head import set_status
from whimbrel.modules.proxy.mod_proxy_http2.connection import BackendStream, StreamError
from whimbrel.registry.phases import OK, HookStatus

_MODULE: Final = "proxy_http2"
_COOKIE: Final = "Set-Cookie"
IGNORED: Final = ONE_HOP | {"alt-svc"}  # fields of answers that the client does not get


class Http2Exchange:
    """A request whose head was sent on *stream*.

    Attributes:
        sent, received: bytes of the bodies.
        _cookies: those that the response had before; httpd adds them to its cookies, among which they are.
        _expects: the body waits for 100 Continue of the back end.
    """

    __slots__ = (
        "_cookies",
        "_expects",
        "_interim",
        "_problem",
        "_sender",
        "backend",
        "call",
        "received",
        "sent",
        "stream",
    )

    def __init__(self, call: ProxyCall, backend: WorkerBackend, stream: BackendStream) -> None:
        self.call = call
        self.backend = backend
        self.stream = stream
        self.sent = 0
        self.received = 0
        self._interim = 0
        self._cookies = call.r.headers_out.get_all(_COOKIE)
        self._expects = False
        self._sender: Driver[None] | None = None
        self._problem: BodyError | None = None

    async def run(self, *, has_body: bool) -> HookStatus:
        """Send the body and make the response of the answer; raises StreamError, BodyError."""
        try:
            if has_body:
                self._expects = self.call.r.expecting_100
                if not self._expects:
                    self._begin_body()
            await self._head()
        except BaseException:
            self.end()
            if self._problem is not None:
                raise self._problem from None
            raise
        return self._respond()

    def end(self) -> None:
        """Stop what is left of the request, and count its bytes."""
        sender, self._sender = self._sender, None
        self.stream.cancel()
        if sender is not None:
            sender.cancel()
        self.backend.state.count(self.sent, self.received)
        self.sent = 0
        self.received = 0

    # the body of the request ----------------------------------------------------------------------
    def _begin_body(self) -> None:
        """Begin to send the body, beside waiting for the answer."""
        work = run_until_suspended(self._send())
        if isinstance(work, Suspended):
            self._sender = drive(work, asyncio.get_running_loop(), self._sending_ended)

    async def _send(self) -> None:
        body = self.call.r.body_in
        stream = self.stream
        try:
            while piece := await body.read():
                self.sent += len(piece)
                if not await stream.send(piece, ends=False):
                    return
            await stream.send(b"", ends=True)
        except BodyError as problem:
            self._problem = problem
            stream.cancel()
            stream.wake()

    def _sending_ended(self, _result: None, problem: BaseException | None) -> None:
        self._sender = None
        if problem is not None and not isinstance(problem, asyncio.CancelledError):
            raise problem

    # the answer -----------------------------------------------------------------------------------
    async def _head(self) -> None:
        """Wait for the head, and for the first bytes or the end: until then an error page can be sent."""
        stream = self.stream
        while True:
            self._pass_interim()
            if stream.failure is not None:
                raise stream.failure
            if stream.head is not None and (stream.buffered or stream.done):
                return
            if stream.done:
                raise StreamError(502)
            await stream.changed()

    def _pass_interim(self) -> None:
        r = self.call.r
        stream = self.stream
        interim, stream.interim = stream.interim, []
        self._interim += len(interim)
        if self._interim >= MAX_INTERIM:
            raise StreamError(502)
        for head in interim:
            add_fields(r, head.fields)
            is_continue = head.status == 100
            if self._expects if is_continue else r.connection.is_http2:
                r.interim(head.status, r.headers_out.items())
                r.headers_out.clear()
            if is_continue and self._expects:
                self._expects = False
                r.expecting_100 = False
                self._begin_body()

    def _respond(self) -> HookStatus:
        """Make the response of the answer whose head has arrived."""
        r = self.call.r
        stream = self.stream
        head = self.stream.head
        assert head is not None
        fields = r.headers_out
        add_fields(r, head.fields)
        cookies = [*self._cookies, *fields.get_all(_COOKIE)]
        if cookies:
            fields.unset(_COOKIE)
            fields.extend([(_COOKIE, value) for value in cookies])
        if self.call.conf.via not in ("off", "block"):
            fields.add("Via", via_value(r, self.call.conf.via))
        kind = fields.get("Content-Type")
        if kind is not None:
            r.content_type = kind
        set_status(r, head)
        if self.call.dir_conf.error_override and self.call.dir_conf.overrides(head.status):
            self.end()
            return _override(r, head.status)
        has_bytes = stream.buffered or not stream.done
        r.chunked = bool(has_bytes) and "content-length" not in fields.entries()
        if stream.done:
            data = stream.take()
            self.received += len(data)
            if data:
                r.body = [data]
            self.end()
        else:
            r.body = [Http2Body(self)]
        return OK


def add_fields(r: Request, fields: Headers) -> None:
    """Add *fields* of an answer to those of the response (h2_proxy_stream_add_header_out).

    httpd maps no Location and no cookie back here.
    """
    for name, value in fields.items():
        if lower(name) not in IGNORED:
            r.headers_out.add(name, value)


def _override(r: Request, status: int) -> HookStatus:
    """Return *status*, for which this server's own page is sent (ProxyErrorOverride)."""
    if status == 401:
        challenge = r.headers_out.get_list("WWW-Authenticate")
        if challenge is not None:
            r.err_headers_out.set("WWW-Authenticate", challenge)
    r.status = 200
    r.notes["proxy-error-override"] = "1"
    return status


class Http2Body(LiveSource):
    """The body of an answer that is not complete with its head."""

    __slots__ = ("_exchange", "_finished")

    def __init__(self, exchange: Http2Exchange) -> None:
        super().__init__(FLUSH_WAIT)
        self._exchange = exchange
        self._finished = False
        exchange.call.r.connection.open_sources.add(self)

    async def wait(self) -> None:
        """Wait for bytes of the stream, or its end."""
        await self._exchange.stream.changed()

    def wake(self) -> None:
        self._exchange.stream.wake()

    def read_now(self) -> bytes | None:
        """Return the bytes that have arrived; raises Aborted if the back end ends the stream early."""
        if self._finished:
            return None
        exchange = self._exchange
        stream = self._exchange.stream
        if stream.buffered:
            data = stream.take()
            exchange.received += len(data)
            return data
        if stream.done:
            self._end()
            return None
        if stream.failure is not None:
            self._end()
            raise Aborted("the stream of the back end has ended early")
        stream.take()  # the window of padding
        return b""

    def drop(self) -> None:
        self._end()

    async def aclose(self) -> None:
        self._end()

    def _end(self) -> None:
        if not self._finished:
            self._finished = True
            self._exchange.call.r.connection.open_sources.discard(self)
            self._exchange.end()
