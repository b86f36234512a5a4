"""One request to a process of an application: FastCGI with record types of its own, and mod_wsgi's head."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, cast

from whimbrel.backends.connection import BackendConnection
from whimbrel.backends.fastcgi import END_STDIN, FastcgiRole, stdin
from whimbrel.base.numbers import atoi, lower
from whimbrel.engine.body import Aborted, PipedBytes
from whimbrel.engine.live_source import FLUSH_WAIT
from whimbrel.engine.log.error_log_line import LogLine, enabled
from whimbrel.engine.request import Request
from whimbrel.http.client.answer import BackendError
from whimbrel.http.semantics.status import status_line
from whimbrel.modules.core.filters_by_type import set_content_type
from whimbrel.modules.support.cgi.script_head import MAX_HEAD, ScriptHead, named_values, replace_values
from whimbrel.modules.support.fastcgi_request import FastcgiRequest, PausedBody
from whimbrel.modules.wsgi.mod_wsgi.records import (
    CUT,
    LEVELS,
    MESSAGES,
    MODULE,
    SUCCEEDED,
    WsgiReader,
    begin,
    variable_records,
)
from whimbrel.modules.wsgi.mod_wsgi.relay import WsgiRelayExchange, WsgiRelayReader
from whimbrel.registry.phases import OK, HookStatus

MAX_LINE: Final = 32768  # bytes of a field; header-buffer-size sets another


class WsgiHead(ScriptHead):
    """The head of an application's response (wsgi_scan_headers)."""

    def __init__(self, r: Request, group: str) -> None:
        super().__init__(r, MODULE)
        self._group = group
        self._cookies = named_values(r.headers_out, "Set-Cookie")
        self._challenges = named_values(r.err_headers_out, "WWW-Authenticate")

    def script_error(self, text: str) -> None:
        """Log *text* with the script (wsgi_log_script_error)."""
        self.r.log("error", f"{text}: {self.r.filename}", module=MODULE)

    def malformed(self, shown: str) -> HookStatus:
        self.script_error(
            f"Malformed header '{shown}' found when reading script headers from daemon process "
            f"'{self._group}'"
        )
        self.r.status_line = None
        return 500

    def ended(self, unfinished: str = "") -> HookStatus:
        words = "Truncated or oversized response headers received from daemon process"
        self.script_error(f"{words} '{self._group}'")
        self.r.status_line = None
        return 500

    def timed_out(self) -> HookStatus:
        words = "Timeout when reading response headers from daemon process"
        self.script_error(f"{words} '{self._group}'")
        self.r.status_line = None
        return 504

    def _field(self, name: str, value: str) -> None:
        r = self.r
        low = lower(name)
        if low == "content-type":
            media, semicolon, rest = value.rstrip(" \t\n\v\f\r").partition(";")
            set_content_type(r, lower(media) + semicolon + rest)
        elif low == "status":
            self._set_status(value)
        elif low in ("location", "content-length", "content-range"):
            r.headers_out.set(name, value)
        elif low == "transfer-encoding":
            return  # the connection decides the framing of the body
        elif low == "last-modified":
            self._set_modified(value)
        elif low == "set-cookie":
            self._cookies.append((name, value))
        elif low == "www-authenticate":
            self._challenges.append((name, value))
        else:
            self._merge.append((name, value))

    def _set_status(self, value: str) -> None:
        r = self.r
        r.status = atoi(value)
        # a line that is httpd's own anyway does not stand in the way of what is cached for the status
        default = status_line(r.status, version22=r.plan.dialect.wire_22)
        r.status_line = None if value == default else value

    def _done(self) -> HookStatus:
        r = self.r
        for name, value in self._merge:
            r.headers_out.merge(name, value)
        replace_values(r.headers_out, "Set-Cookie", self._cookies)
        replace_values(r.err_headers_out, "WWW-Authenticate", self._challenges)
        return OK


class EmbeddedHead(WsgiHead):
    """The head of a response in embedded mode: each field as the application gives it."""

    def _field(self, name: str, value: str) -> None:
        r = self.r
        low = lower(name)
        if low == "content-type":
            set_content_type(r, value)
        elif low == "status":
            self._set_status(value)
        elif low == "content-length":
            r.headers_out.set("Content-Length", value)
        elif low == "www-authenticate":
            r.err_headers_out.add(name, value)
        elif low != "transfer-encoding":
            r.headers_out.add(name, value)

    def _done(self) -> HookStatus:
        return OK


class WsgiBody(PausedBody):
    """The body of an answer."""

    __slots__ = ()

    def check_end(self) -> None:
        if cast("WsgiReader", self._reader).outcome == CUT:
            raise Aborted("the application failed")

    def failed(self, problem: BackendError) -> None:
        r = self._exchange.r
        cause = problem.reasons[-1].cause if problem.reasons else ""
        text = f"mod_wsgi (pid={r.engine.runtime.pid}): Failed to proxy response from daemon."
        r.log("error", text, module=MODULE, cause=cause)


class WsgiExchange(FastcgiRequest):
    """The exchange for one request.

    Attributes:
        group: the process group, "" for the processes of embedded mode.
        variables: their text (`variable_text`).
        has_body: the request has a body, which is sent once a process has accepted the request.
        relay: has sent the request, and has received the beginning of its answer; None without one.
        reader: of the answer.
    """

    flush_wait = FLUSH_WAIT

    def __init__(
        self,
        r: Request,
        connection: BackendConnection,
        group: str,
        variables: bytes,
        *,
        has_body: bool,
        max_line: int = 0,
        role: FastcgiRole = FastcgiRole.RESPONDER,
        relay: WsgiRelayExchange | None = None,
    ) -> None:
        super().__init__(r, connection, MESSAGES, role=role, keep=True)
        self.group = group
        self.variables = variables
        self.has_body = has_body
        self.relay = relay
        self.reader = WsgiRelayReader(min(max_line or MAX_LINE, MAX_HEAD))

    def make_reader(self) -> WsgiReader:
        return self.reader

    def _send_params(self, variables: Iterable[tuple[str, str]]) -> None:
        """See FastcgiRequest: send `variables`."""
        if self.relay is not None:
            self.relay.continue_as(self.reader)
            return
        records = begin(self.role, has_body=self.has_body) + variable_records(self.variables)
        # one write: a process that ends before a second one closes the connection, and its answer is lost
        self.connection.write(records if self.has_body else records + END_STDIN)

    async def _send_body(self) -> None:
        """See FastcgiRequest: wait until a process has accepted the request."""
        if not self.has_body:
            return
        connection = self.connection
        reader = cast("WsgiReader", connection.reader)
        while not reader.is_accepted and not reader.done:
            if connection.failure is not None:
                self.log_errors(reader)
                raise connection.failure
            await connection.changed()
        if reader.is_accepted:
            # httpd reads the body before the response, so a client that expects 100 Continue gets it
            connection.write(stdin(await self.body.read()))
            await super()._send_body()

    def log_stderr(self, text: str) -> None:
        """Log a line of the process, at the level that its first letter stands for."""
        r = self.r
        level = LEVELS.get(text[:1], "error")
        if enabled(r.plan.levels, MODULE, level):
            # the daemon logs with a request record of its own, which httpd shows as a connection
            peer = "remote" if self.group else ""
            r.engine.log_request(r, LogLine(level, text[1:], module=MODULE, peer=peer))

    def _read_head(self) -> HookStatus:
        reader = cast("WsgiReader", self.connection.reader)
        if reader.head is None or reader.head.script_lines is None:
            if reader.outcome == SUCCEEDED:
                return self.head_reader().ended()
            if self.group:
                return 504 if reader.outcome == 504 else 500
            return reader.outcome
        return super()._read_head()

    def head_reader(self) -> WsgiHead:
        return WsgiHead(self.r, self.group) if self.group else EmbeddedHead(self.r, self.group)

    def respond(self) -> None:
        reader = cast("WsgiReader", self.connection.reader)
        length = self.r.headers_out.get("Content-Length")
        # a complete body of the announced length needs no source; an empty one has no chunks in embedded mode
        if not reader.done or length != str(reader.buffered) and (reader.buffered or self.group):
            self.r.body.append(WsgiBody(self))
            return
        data = self.connection.take()
        self.finish()
        self.connection.finish()
        if data:
            self.r.body.append(PipedBytes(data))
