"""Error logs of one configuration: messages about requests and connections become lines in their server's
log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.config.configuration import Configuration
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.config.model import LogSink, Server
from whimbrel.engine.connection import Connection
from whimbrel.engine.log.error_log_format import ErrorFormats, LogRecord, log_id
from whimbrel.engine.log.error_log_line import LogContext, LogLine, enabled, error_line
from whimbrel.engine.redirect_chain import client_request

if TYPE_CHECKING:
    from whimbrel.engine.request import Request
    from whimbrel.engine.runtime import Runtime


class ErrorLog:
    """Sinks and formats of the error logs, determined once for each server."""

    def __init__(self, configuration: Configuration, runtime: Runtime) -> None:
        self.configuration = configuration
        self.runtime = runtime
        self._known: dict[int, tuple[LogSink | None, ErrorFormats]] = {}

    def about_request(self, r: Request, line: LogLine) -> None:
        """A line about a request, or about one more use of a cached response."""
        sink, formats = self._of(r.server)
        if sink is None:
            return
        runtime = self.runtime
        connection = r.connection
        message = LogRecord(line, runtime.now(), runtime.pid, r.server, connection, r)
        self._first_of_connection(message, sink, formats)
        first = client_request(r)
        if not first.log_id:
            first.log_id = first.env.get("UNIQUE_ID") or log_id()
            if formats.request:
                runtime.write_log(sink, formats.once(formats.request, message._replace(r=first)))
        r.log_id = first.log_id
        if formats.main is not None:
            runtime.write_log(sink, formats.line(message))
            return
        client = connection.useragent_ip or connection.client_ip
        facts = LogContext(
            message.now,
            runtime.pid,
            runtime.tid,
            client,
            connection.useragent_port,
            None if line.peer else r.headers_in.get("Referer"),
            line.peer or ("remote" if connection.is_http2 else "client"),
        )
        runtime.write_log(sink, error_line(line, facts, new=self.configuration.dialect.messages_24))

    def about_connection(self, connection: Connection, server: Server, line: LogLine) -> None:
        """A line about a connection on which no request is in hand."""
        sink, formats = self._of(server)
        if sink is None:
            return
        runtime = self.runtime
        message = LogRecord(line, runtime.now(), runtime.pid, server, connection)
        self._first_of_connection(message, sink, formats)
        if formats.main is not None:
            runtime.write_log(sink, formats.line(message))
            return
        facts = LogContext(
            message.now, runtime.pid, runtime.tid, connection.client_ip, connection.client_port
        )
        runtime.write_log(sink, error_line(line, facts, new=self.configuration.dialect.messages_24))

    def is_default(self, server: Server) -> bool:
        """Return True if the lines of the server's log have httpd's default form."""
        formats = self._of(server)[1]
        return formats.main is None and not formats.request and not formats.connection

    def about_server(self, server: Server, line: LogLine) -> None:
        """Write a line without client if LogLevel admits it; for example about a .htaccess file."""
        if not enabled(server.config(CoreServerConfig).log_level, line.module, line.level):
            return
        sink, formats = self._of(server)
        if sink is None:
            return
        now = self.runtime.now()
        pid = self.runtime.pid
        tid = self.runtime.tid
        if formats.main is not None:
            self.runtime.write_log(sink, formats.line(LogRecord(line, now, pid, server)))
            return
        self.runtime.write_log(
            sink, error_line(line, LogContext(now, pid, tid), new=self.configuration.dialect.messages_24)
        )

    def _first_of_connection(self, message: LogRecord, sink: LogSink, formats: ErrorFormats) -> None:
        connection = message.connection
        if connection is None or connection.log_id:
            return
        connection.log_id = log_id()
        if formats.connection:
            self.runtime.write_log(sink, formats.once(formats.connection, message))

    def _of(self, server: Server) -> tuple[LogSink | None, ErrorFormats]:
        entry = self._known.get(id(server))
        if entry is None:
            provider = self.configuration.provider("log", "error_sink")
            sink = (
                provider(self.configuration, server)
                if provider is not None
                else self.configuration.spec.error_log
            )
            core = server.config(CoreServerConfig)
            entry = (
                sink,
                ErrorFormats(core.error_log_format, core.error_log_formats),
            )
            self._known[id(server)] = entry
        return entry
