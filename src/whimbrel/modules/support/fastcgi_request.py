"""One request to a FastCGI application over a connection: shared by every module with FastCGI back ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from whimbrel.backends.connection import BackendBody, BackendConnection
from whimbrel.backends.fastcgi import (
    END_STDIN,
    PROXY_FCGI,
    FastcgiMessages,
    FastcgiReader,
    FastcgiRole,
    begin_request,
    params,
    stdin,
)
from whimbrel.engine.body import PipedBytes
from whimbrel.engine.input.body import level_of
from whimbrel.engine.request import Request
from whimbrel.http.client.answer import AnswerReader, BackendError, BackendMessage
from whimbrel.http.http1.chunked import BodyError
from whimbrel.modules.support.body_sender import BodyInput, BodySender
from whimbrel.modules.support.cgi.script_head import ScriptHead
from whimbrel.registry.phases import OK, HookStatus


class FastcgiRequest:
    """The exchange for *r* on *connection*, which belongs to this request from now on.

    Every way out returns the connection to its pool or closes it: a failure and a cancellation at once, a
    success with the end of the response body.

    Attributes:
        keep: the application leaves the connection open.
        body: the request body, or what replaces it.
        flush_wait: see LiveSource.
    """

    flush_wait: float | None = None

    def __init__(
        self,
        r: Request,
        connection: BackendConnection,
        messages: FastcgiMessages = PROXY_FCGI,
        *,
        role: FastcgiRole = FastcgiRole.RESPONDER,
        keep: bool = False,
    ) -> None:
        self.r = r
        self.connection = connection
        self.messages = messages
        self.role = role
        self.keep = keep
        self.body: BodyInput = r.body_in
        self._sender: BodySender | None = None

    async def run(self, variables: Iterable[tuple[str, str]], timeout: float) -> HookStatus:
        """Send the request and read the head of the answer, with at most *timeout* seconds of silence.

        With OK the fields are set and the body of the response is the rest of the answer.  With any other
        status nothing more is read.

        Raises:
            BackendError: the application failed before its head was complete.
            BodyError: the request body cannot be read.
        """
        try:
            self.connection.begin(self.make_reader(), timeout, keeps_open=self.keep)
            self._send_params(variables)
            await self._send_body()
            await self._next_head()
            status = self._read_head()
        except BaseException:
            self.abort()
            raise
        if status != OK:
            self.abort()
            return status
        self.respond()
        return OK

    def make_reader(self) -> FastcgiReader:
        """Return a reader of the answer."""
        return FastcgiReader(self.messages, keep=self.keep)

    def abort(self) -> None:
        """End the exchange; the rest of the answer is not read."""
        self.finish()
        self.connection.finish()

    def finish(self) -> None:
        """End the sending of the request body."""
        if self._sender is not None:
            self._sender.stop()

    # request --------------------------------------------------------------------------------------
    def _send_params(self, variables: Iterable[tuple[str, str]]) -> None:
        records, left_out = params(variables)
        for name in left_out:
            text = f"couldn't encode param {name}: its value does not fit into a record"
            self.r.log("warn", text, code="AH02536", module=self.messages.module)
        self.connection.write(begin_request(self.role, keep=self.keep) + records)

    async def _send_body(self) -> None:
        """Send the request body; an authorizer has no input."""
        if self.role != FastcgiRole.AUTHORIZER:
            self._sender = BodySender(self.connection, self.connection.write, stdin, END_STDIN)
            await self._sender.send(self.body)

    # answer ---------------------------------------------------------------------------------------
    async def _next_head(self) -> None:
        """Wait for the head. Raises BackendError, or the BodyError because of which no head follows."""
        connection = self.connection
        sender = self._sender
        reader = cast("AnswerReader", connection.reader)
        try:
            while reader.head is None:
                self.log_errors(reader)
                if sender is not None and sender.problem is not None:
                    raise sender.problem
                if connection.failure is not None:
                    raise connection.failure
                await connection.changed()
        finally:
            self.log_errors(reader)

    def log_errors(self, reader: AnswerReader) -> None:
        """Log what the application wrote to its standard error, and the reader's own messages."""
        errors, reader.errors = reader.errors, []
        for text in errors:
            self.log_stderr(text)
        lines, reader.messages = reader.messages, []
        self.log_messages(lines)

    def log_stderr(self, text: str) -> None:
        """Log what the application wrote to its standard error, as mod_proxy_fcgi does."""
        self.r.log("error", f"Got error '{text}'", code="AH01071", module=self.messages.module)

    def log_messages(self, lines: Iterable[BackendMessage]) -> None:
        """Log messages of the reader."""
        for line in lines:
            self.r.log(line.level, line.text, code=line.code, module=line.module, cause=line.cause)

    def _read_head(self) -> HookStatus:
        head = cast("AnswerReader", self.connection.reader).head
        lines = None if head is None else head.script_lines
        if lines is None:
            return OK
        reader = self.head_reader()
        for line in lines:
            status = reader.line(line)
            if status is not None:
                return status
        return reader.ended()

    def head_reader(self) -> ScriptHead:
        """Return the reader that gives the lines of the head their meaning."""
        return ScriptHead(self.r, self.messages.module)

    def respond(self) -> None:
        """Make the rest of the answer the body of the response: bytes if it is complete, else a source."""
        reader = cast("AnswerReader", self.connection.reader)
        r = self.r
        if not reader.done:
            source = FastcgiBody(self)
            r.body.append(source)
            return
        data = self.connection.take()
        self.finish()
        self.connection.finish()
        if data:
            has_head = reader.head is not None and reader.head.script_lines is not None
            r.body.append(PipedBytes(data) if has_head else data)


class FastcgiBody(BackendBody):
    """The body of an answer; what the application writes to standard error meanwhile is logged."""

    __slots__ = ("_exchange", "_reader")

    def __init__(self, exchange: FastcgiRequest) -> None:
        super().__init__(exchange.connection, exchange.flush_wait)
        self._exchange = exchange
        self._reader = cast("AnswerReader", exchange.connection.reader)
        exchange.r.connection.open_sources.add(self)  # closed if the client goes away

    def read_now(self) -> bytes | None:
        """See BackendBody; also log standard error."""
        reader = self._reader
        if reader.errors or reader.messages:
            self._exchange.log_errors(reader)
        return super().read_now()

    def failed(self, problem: BackendError) -> None:
        self._exchange.log_messages(problem.reasons)

    def _end(self) -> None:
        if self._reader.errors or self._reader.messages:
            self._exchange.log_errors(self._reader)
        self._exchange.r.connection.open_sources.discard(self)
        self._exchange.finish()
        super()._end()


class PausedBody(FastcgiBody):
    """The body of an answer whose end is not known when the response head is made."""

    __slots__ = ("_has_paused",)

    def __init__(self, exchange: FastcgiRequest) -> None:
        super().__init__(exchange)
        self._has_paused = False

    def read_now(self) -> bytes | None:
        data = super().read_now()
        if data is None:
            self.check_end()
            if not self._has_paused:
                self._has_paused = True
                return b""
        return data

    def check_end(self) -> None:
        """Raise Aborted if the answer has not ended in good order."""

    async def read(self) -> bytes | None:
        self._has_paused = True
        return await super().read()


def log_refusal(r: Request, problem: BodyError) -> None:
    """Log why a request body cannot be read."""
    reason = problem.reason
    level = level_of(reason, version22=r.plan.dialect.wire_22)
    if level:
        r.log(level, reason.text, code=reason.code, module=reason.module, cause=reason.cause)
