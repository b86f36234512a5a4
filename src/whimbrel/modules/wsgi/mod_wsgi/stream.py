"""Body of a relayed response that is sent as it arrives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from whimbrel.backends.connection import BackendBody
from whimbrel.engine.body import Aborted
from whimbrel.engine.cache.log_view import CachedRequestView
from whimbrel.engine.cache.raw_head import RawHead
from whimbrel.engine.log.error_log_line import LogLine, enabled
from whimbrel.modules.wsgi.mod_wsgi.records import CUT, LEVELS, MODULE, WsgiReader

if TYPE_CHECKING:
    from whimbrel.engine.connection import Connection
    from whimbrel.http.client.answer import BackendError
    from whimbrel.modules.wsgi.mod_wsgi.relay import WsgiRelayExchange


class RelayedBody(BackendBody):
    """See `WsgiBody`; lines of the error log are about a request that has no `Request`."""

    __slots__ = ("_client", "_exchange", "_peer", "_reader")

    def __init__(self, exchange: WsgiRelayExchange, client: Connection, group: str) -> None:
        super().__init__(exchange.connection)
        self._exchange = exchange
        self._client = client
        self._peer = "remote" if group else ""
        self._reader = cast("WsgiReader", exchange.connection.reader)

    def read_now(self) -> bytes | None:
        """See BackendBody; also log the lines of the process."""
        if self._reader.errors:
            self._log_errors()
        data = super().read_now()
        if data is None and self._reader.outcome == CUT:
            raise Aborted("the application failed")
        return data

    def failed(self, problem: BackendError) -> None:
        cause = problem.reasons[-1].cause if problem.reasons else ""
        pid = self._exchange.reply.request.engine.runtime.pid
        text = f"mod_wsgi (pid={pid}): Failed to proxy response from daemon."
        self._log(LogLine("error", text, module=MODULE, cause=cause))

    def _end(self) -> None:
        if self._reader.errors:
            self._log_errors()
        super()._end()

    def _log_errors(self) -> None:
        errors, self._reader.errors = self._reader.errors, []
        for text in errors:
            level = LEVELS.get(text[:1], "error")
            self._log(LogLine(level, text[1:], module=MODULE, peer=self._peer))

    def _log(self, line: LogLine) -> None:
        exchange = self._exchange
        reply = exchange.reply
        r = reply.request
        if enabled(r.plan.levels, line.module, line.level):
            head = RawHead(exchange.request_head[0])
            view: Any = CachedRequestView(reply.log, reply.template, self._client, exchange.time, head)
            r.engine.error_log.about_request(view, line)
