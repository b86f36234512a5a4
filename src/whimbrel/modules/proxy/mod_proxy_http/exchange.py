"""One request to an HTTP back end and its answer (ap_proxy_http_request, ap_proxy_http_process_response)."""

from __future__ import annotations

import asyncio
from typing import Final, NoReturn, cast

from whimbrel.backends.connection import BackendBody, BackendConnection
from whimbrel.base.numbers import lower
from whimbrel.engine.coroutines import yield_to_loop
from whimbrel.engine.live_source import FLUSH_WAIT
from whimbrel.engine.output.filter import FilterError, FilterType, OutputFilter, add_output_filter
from whimbrel.engine.request import Request
from whimbrel.engine.tls import BackendTlsParameters
from whimbrel.http.client.answer import TIMEOUT, BackendError, ResponseHead
from whimbrel.http.client.response_reader import ResponseReader
from whimbrel.http.http1.chunked import BodyError
from whimbrel.http.semantics.headers import Headers
from whimbrel.modules.proxy.mod_proxy.backend import (
    Route,
    WorkerBackend,
    answer_timeout,
    log_message,
    log_server,
    printed,
)
from whimbrel.modules.proxy.mod_proxy.errors import proxy_error
from whimbrel.modules.proxy.mod_proxy.scheme import ProxyCall
from whimbrel.modules.proxy.mod_proxy_http.relay import (
    HttpOnePieceReader,
    HttpRelayExchange,
    offer_relay,
    one_piece_reader,
)
from whimbrel.modules.proxy.mod_proxy_http.request_body import OutgoingBody, send_rest
from whimbrel.modules.proxy.mod_proxy_http.response_head import response_fields, set_status
from whimbrel.modules.proxy.mod_proxy_http.rules import HttpRules
from whimbrel.modules.proxy.mod_proxy_http.upgrade import may_upgrade, switch
from whimbrel.registry.phases import DONE, OK, REVERSE_PROXY, HookStatus

_HTTP_0_9: Final = (0, 9)
_MODULE: Final = "proxy_http"
MAX_DISCARD: Final = 64 * 1024  # bytes of an overridden answer that are read to keep the connection
_BODILESS: Final = frozenset((204, 304))
# Methods of requests that are sent again if the back end has closed the connection before (RFC 9110, 9.2.2).
IDEMPOTENT: Final = frozenset(("GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"))


class StaleConnection(Exception):
    """The back end closed a connection that had served requests, before any byte of an answer."""


class BrokenAnswer(OutputFilter):
    """The error bucket of an answer that broke before any of its body (ap_proxy_backend_broke)."""

    name = "proxy_broken"
    type = FilterType.RESOURCE

    def begin(self, r: Request) -> NoReturn:
        """Let a 502 take the place of the response."""
        raise FilterError(502, is_bucket=True)


class ProxiedBody(BackendBody):
    """The body of an answer that is not complete with its head."""

    __slots__ = ("_exchange",)

    def __init__(self, connection: BackendConnection, exchange: Exchange) -> None:
        super().__init__(connection, FLUSH_WAIT)
        self._exchange = exchange
        exchange.call.r.connection.open_sources.add(self)

    def read_now(self) -> bytes | None:
        data = super().read_now()
        if data:
            self._exchange.count += len(data)
        return data

    def failed(self, problem: BackendError) -> None:
        self._exchange.log(problem)

    def _end(self) -> None:
        exchange = self._exchange
        exchange.call.r.connection.open_sources.discard(self)
        exchange.stop_sending()
        if not self._finished:
            exchange.account()
        super()._end()


class Exchange:
    """One request to a back end.

    Attributes:
        head, body: the request as it is sent.
        force10: the request is one of HTTP/1.0. `keeps_open`: the connection may serve more requests.
        expects: the body waits for 100 Continue of the back end.
        upgrade: the protocols that the client wants to switch to, "" if that is not configured.
        tls: the parameters of its connection, None without TLS.
        count: bytes read from the back end.
    """

    __slots__ = (
        "_connection",
        "_problem",
        "_sender",
        "_sent",
        "backend",
        "body",
        "call",
        "count",
        "expects",
        "force10",
        "head",
        "keeps_open",
        "route",
        "rules",
        "tls",
        "upgrade",
    )

    def __init__(self, call: ProxyCall, rules: HttpRules, backend: WorkerBackend, route: Route) -> None:
        self.call = call
        self.rules = rules
        self.backend = backend
        self.route = route
        self.body = OutgoingBody()
        self.head = b""
        self.force10 = False
        self.keeps_open = False
        self.expects = False
        self.upgrade = ""
        self.tls: BackendTlsParameters | None = None
        self.count = 0
        self._sent = 0
        self._connection: BackendConnection | None = None
        self._sender: asyncio.Task[None] | None = None
        self._problem: BodyError | None = None

    def has_upgrade(self, call: ProxyCall) -> bool:
        """Return True if the client wants to switch to a protocol that the worker may pass on."""
        worker = self.backend.worker
        if self.rules.old or self.force10 or not (worker.parameters.upgrade or call.url[:2] == "ws"):
            return False
        wanted = call.r.headers_in.get_list("Upgrade")
        if wanted is not None and may_upgrade(worker, wanted, call.url):
            self.upgrade = wanted
        return bool(self.upgrade)

    # sending --------------------------------------------------------------------------------------
    async def run(
        self, connection: BackendConnection, *, may_repeat: bool, relay: HttpRelayExchange | None = None
    ) -> HookStatus:
        """Send the request on *connection*, unless *relay* has sent it, and make the response of the answer.

        Raises StaleConnection if *may_repeat* and the back end had closed a connection of earlier requests;
        BodyError if the request's body cannot be read.
        """
        call = self.call
        body = self.body
        r = call.r
        worker = self.backend.worker
        reader = one_piece_reader(
            self.rules.reader_rules(call, worker), r.method, r.uri, self.route.endpoint.server
        )
        timeout = answer_timeout(call, worker)
        if self.expects and worker.parameters.ping is not None:
            timeout = worker.parameters.ping
        if relay is not None:
            relay.continue_as(reader)
        else:
            connection.begin(reader, timeout, keeps_open=self.keeps_open)
            connection.write(self.head if self.expects else self.head + body.first())
        self._connection = connection
        self._sent = len(self.head) + (0 if self.expects else len(body.data))
        try:
            if not self.expects and (body.has_more or body.file is not None):
                await self._send_rest()
            head = await self._final_head(connection, reader)
        except BackendError as problem:
            self._stop(connection)
            if self._problem is not None:
                raise self._unsendable(self._problem) from None
            if may_repeat and connection.served and not connection.has_answered and not _is_timeout(problem):
                raise StaleConnection from None
            return self._refused(connection, problem)
        except BaseException:
            self._stop(connection)
            raise
        return await self._respond(connection, reader, head)

    async def _send_rest(self) -> None:
        """Begin to send what follows the head, beside waiting for the answer."""
        await yield_to_loop()  # a task, in which the body can be awaited
        connection = cast(BackendConnection, self._connection)
        connection.keeps_open = False  # until the request is complete
        self._sender = asyncio.get_running_loop().create_task(self._send(connection))

    async def _send(self, connection: BackendConnection) -> None:
        try:
            self._sent += await send_rest(self.call.r, connection, self.body)
            connection.keeps_open = self.keeps_open
        except BodyError as problem:
            self._problem = problem
            connection.close()
        except BackendError:
            pass  # which the request learns by itself

    def stop_sending(self) -> None:
        """Stop sending the request: the answer is complete, or not wanted."""
        sender, self._sender = self._sender, None
        if sender is not None:
            sender.cancel()

    def _stop(self, connection: BackendConnection) -> None:
        self.stop_sending()
        self.account()
        connection.close()
        connection.finish()

    def account(self) -> None:
        """Add the bytes to the counters of the worker."""
        self.backend.state.count(self._sent, self.count)
        self._sent = 0
        self.count = 0

    # the answer -----------------------------------------------------------------------------------
    async def _final_head(self, connection: BackendConnection, reader: ResponseReader) -> ResponseHead:
        """Return the head of the answer; pass interim ones on. Raises BackendError."""
        while True:
            await connection.next_head()
            if reader.interim:
                interim, reader.interim = reader.interim, []
                for head in interim:
                    await self._pass_interim(connection, head)
            elif reader.head is not None:
                if reader.messages:
                    self._log_messages(reader)
                return reader.head

    async def _pass_interim(self, connection: BackendConnection, head: ResponseHead) -> None:
        """Send an interim answer to the client, as far as it may have it; begin with the body after a 100."""
        r = self.call.r
        is_continue = head.status == 100
        policy = r.env.get("proxy-interim-response")
        if policy is None or lower(policy) == "rfc":
            wanted = self.rules.old or r.expecting_100 or not is_continue or policy is not None
            if wanted:
                r.interim(head.status, response_fields(self.call, head.fields).items(), head.reason)
                r.headers_out.clear()  # the client has them
        elif lower(policy) != "suppress":
            text = "undefined proxy interim response policy"
            r.log("warn", text, code="AH01108", module=_MODULE)
        if self.expects and is_continue:
            self.expects = False
            connection.timeout = answer_timeout(self.call, self.backend.worker)
            await self._send_rest()

    async def _respond(
        self, connection: BackendConnection, reader: HttpOnePieceReader, head: ResponseHead
    ) -> HookStatus:
        """Make the response of the answer whose head has arrived."""
        call = self.call
        r = call.r
        status = head.status
        if self._sender is not None and (status >= 300 or self.body.file is not None):
            self.stop_sending()
        elif self.expects and self.body.framing:
            connection.keeps_open = False  # the back end still expects the body
        if status == 101:
            return await self._switch(connection, head)
        original = r.status
        line = r.status_line
        offered = head.fields.get_list("Upgrade")
        fields = r.headers_out
        coding = head.fields.get_list("Transfer-Encoding") if r.header_only or status in _BODILESS else None
        if head.version != _HTTP_0_9:  # its body has no fields that replace those of the response
            fields = response_fields(call, head.fields)
            r.headers_out = fields
        if coding is not None:  # httpd removes it where it reads the body
            fields.set("Transfer-Encoding", coding)
        kind = fields.entries().get("content-type")
        if kind is not None:
            r.content_type = kind[1]
        set_status(r, head)
        if call.dir_conf.error_override:
            if self.rules.overrides(call, status):
                return await self._override(connection, reader, status)
            if self.rules.overrides(call, original) and not r.header_only and status not in _BODILESS:
                r.status = original
                r.status_line = line
        if offered is not None and not self.rules.old and may_upgrade(self.backend.worker, offered, call.url):
            fields.set("Connection", "Upgrade")
            fields.set("Upgrade", offered)
        r.chunked = "content-length" not in fields.entries()  # the end comes apart from the last bytes
        if kind is not None and not r.chunked and self._is_ordinary(status, original, offered):
            offer_relay(self, reader)
        self._take_body(connection, reader)
        return OK

    def _is_ordinary(self, status: int, original: int, offered: str | None) -> bool:
        """Return True if the response depends on nothing but the head of the answer."""
        return (
            self.keeps_open
            and not self.body.framing
            and original == 200
            and status not in _BODILESS
            and not self.call.r.header_only
            and offered is None
        )

    def _take_body(self, connection: BackendConnection, reader: ResponseReader) -> None:
        """Give the response its body: the bytes that are there, and a source for the rest."""
        r = self.call.r
        if r.header_only and (reader.buffered or not reader.done):
            # an ErrorDocument is requested by GET, also for HEAD
            self.stop_sending()
            self.account()
            self._stop(connection)
        elif reader.done:
            data = reader.take()
            if data:
                r.body = [data]
            self.count += len(data)
            self.stop_sending()
            self.account()
            connection.finish()
        elif connection.failure is not None and not reader.buffered:
            self.log(connection.failure)
            self._stop(connection)
            r.no_cache = True
            r.output_filters = []
            add_output_filter(r, BrokenAnswer())
        else:
            r.body = [ProxiedBody(connection, self)]

    async def _override(
        self, connection: BackendConnection, reader: ResponseReader, status: int
    ) -> HookStatus:
        """Replace the answer by the server's own page for *status* (ProxyErrorOverride)."""
        r = self.call.r
        if status == 401:
            challenge = r.headers_out.get_list("WWW-Authenticate")
            if challenge is not None:
                r.err_headers_out.set("WWW-Authenticate", challenge)
            else:
                text = "origin server sent 401 without WWW-Authenticate header"
                r.log("debug", text, code="AH01109", module=_MODULE)
        r.status = 200
        count = 0
        while not reader.done and connection.failure is None and count <= MAX_DISCARD:
            await connection.changed()
            count += len(reader.take())
        self.stop_sending()
        self.account()
        connection.finish()
        if not self.rules.old:
            r.notes["proxy-error-override"] = "1"
        return status

    async def _switch(self, connection: BackendConnection, head: ResponseHead) -> HookStatus:
        """Join client and back end after a 101 answer."""
        r = self.call.r
        offered = head.fields.get_list("Upgrade")
        if not self.upgrade or offered is None or lower(offered) != lower(self.upgrade):
            self._stop(connection)
            wanted = self.upgrade or "n/a"
            return proxy_error(r, 502, f"Unexpected Upgrade: {offered or 'n/a'} (expecting {wanted})")
        fields = response_fields(self.call, head.fields)
        fields.set("Connection", "Upgrade")
        fields.set("Upgrade", offered)
        r.log("debug", f"HTTP: tunneling protocol {offered}", code="AH10239", module=_MODULE)
        timeout = max(connection.timeout, r.plan.server_core.timeout)
        await self._finish_sending(connection, timeout)
        self.account()
        switch(r, connection, fields, head.reason, timeout)
        return DONE

    async def _finish_sending(self, connection: BackendConnection, timeout: float) -> None:
        """Send the rest of the request before the tunnel begins; raises BodyError.

        A back end that takes nothing more within *timeout* seconds gets no more of it.
        """
        sender = self._sender
        if sender is None or sender.done():
            return
        connection.hold_input()
        await asyncio.wait((sender,), timeout=timeout)
        self.stop_sending()
        if self._problem is not None:
            self._stop(connection)
            raise self._unsendable(self._problem)

    # failures -------------------------------------------------------------------------------------
    def log(self, problem: BackendError) -> None:
        """Log why the answer cannot be read."""
        reader = cast(BackendConnection, self._connection).reader
        if reader is not None:
            self._log_messages(cast(ResponseReader, reader))
        for message in problem.reasons:
            log_message(self.call.r, message)

    def _log_messages(self, reader: ResponseReader) -> None:
        messages, reader.messages = reader.messages, []
        address = printed(self.route.endpoint.addresses[0])
        for message in messages:
            log_message(self.call.r, message, address)

    def refuse_tls(self) -> HookStatus:
        """Return the status where the back end's certificate is not acceptable, or the handshake failed.

        httpd finds out when it sends the request.
        """
        r = self.call.r
        endpoint = self.route.endpoint
        where = f"{printed(endpoint.addresses[0])} ({endpoint.name})"
        text = f"pass request body failed to {where}"
        detail = "Error during SSL Handshake with remote server"
        ending = f"{text} from {r.connection.client_ip} ()"
        if self.rules.old:
            log_server(r, "error", text, "", cause="(502)Unknown error 502", module=_MODULE)
            status = proxy_error(r, 500, detail)
            log_server(r, "error", ending, "", module=_MODULE)
            return status
        cause = "(20014)Internal error (specific information not available)"
        r.log("error", text, code="AH01084", module="proxy", cause=cause)
        status = proxy_error(r, 500, detail)
        r.log("error", ending, code="AH01097", module=_MODULE)
        return status

    def _unsendable(self, problem: BodyError) -> BodyError:
        """Log that the body of the request could not be read to its end; return *problem*."""
        r = self.call.r
        endpoint = self.route.endpoint
        where = f"{printed(endpoint.addresses[0])} ({endpoint.name}) from {r.connection.client_ip} ()"
        if self.rules.old:
            log_server(r, "error", f"pass request body failed to {where}", "", module=_MODULE)
        else:
            text = f"read request body failed to {where}"
            cause = problem.reason.cause
            r.log("error", text, code="AH02608", module="proxy", cause=cause)
            r.log("error", f"pass request body failed to {where}", code="AH01097", module=_MODULE)
        return problem

    def _untaken(self) -> HookStatus:
        """Log that the back end has not taken the body of the request in time; return the status."""
        r = self.call.r
        endpoint = self.route.endpoint
        text = f"pass request body failed to {printed(endpoint.addresses[0])} ({endpoint.name})"
        ending = f"{text} from {r.connection.client_ip} ()"
        if self.rules.old:
            log_server(r, "error", text, "", cause=TIMEOUT, module=_MODULE)
            log_server(r, "error", ending, "", module=_MODULE)
        else:
            r.log("error", text, code="AH01084", module="proxy", cause=TIMEOUT)
            r.log("error", ending, code="AH01097", module=_MODULE)
        return 504

    def _refused(self, connection: BackendConnection, problem: BackendError) -> HookStatus:
        """Return the status for an answer without a head that can be used."""
        r = self.call.r
        old = self.rules.old
        if connection.is_stalled:
            return self._untaken()
        self.log(problem)
        if _is_silent(problem):
            return self._without_answer(connection, problem)
        if problem.detail:
            return proxy_error(r, problem.status, problem.detail)
        r.headers_out = Headers()
        r.status = problem.status
        r.status_line = None
        if not old:
            r.content_type = None
        return problem.status

    def _without_answer(self, connection: BackendConnection, problem: BackendError) -> HookStatus:
        """The back end has sent no status line: close the client's connection, whose owner then tries again,
        unless that would look like a failure of the server.
        """
        r = self.call.r
        endpoint = self.route.endpoint
        old = self.rules.old
        prefix = "proxy: " if self.rules.old else ""
        late = _is_timeout(problem)
        if late:
            r.log("debug", f"{prefix}read timeout", code="AH01103", module=_MODULE)
            if not old:
                r.notes["proxy_timedout"] = "1"
                if self.expects:
                    return proxy_error(r, 503, "Timeout on 100-Continue")
        served = 1 if r.connection.is_http2 else r.connection.served  # httpd's connection of a stream has 1
        if r.proxy == REVERSE_PROXY and served and not late:
            text = (
                f"{prefix}Closing connection to client because reading from backend server {endpoint.server} "
                f"failed. Number of keepalives {served}"
            )
            r.log("debug", text, code="AH01104", module=_MODULE)
            if r.connection.is_http2:
                return 500  # mod_http2's response to a stream that ends without one
            _close_silently(r)
            return DONE
        if not served:
            text = (
                f"{prefix}NOT Closing connection to client although reading from backend server "
                f"{endpoint.server} failed."
            )
            r.log("debug", text, code="AH01105", module=_MODULE)
        return proxy_error(r, problem.status, problem.detail)


def _is_silent(problem: BackendError) -> bool:
    """Return True if there was no status line."""
    return any(message.text.startswith(_NO_STATUS) for message in problem.reasons)


_NO_STATUS: Final = ("error reading status line", "proxy: error reading status line")


def _is_timeout(problem: BackendError) -> bool:
    return any(message.cause == TIMEOUT for message in problem.reasons)


def _close_silently(r: Request) -> None:
    """Let the connection of the client end without a response."""
    r.assbackwards = True
    r.body = []
    r.output_filters = []
