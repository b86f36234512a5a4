"""Accounting of responses: counters of the worker and the connection, log lines, state of cache entries.

Both protocols write a response in their own way, and then call `account_response`, or `account_hit` where the
response came from the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from time import time
from typing import TYPE_CHECKING, Protocol

from whimbrel.engine.cache.entry import CachedResponse
from whimbrel.engine.connection import Connection
from whimbrel.engine.log.error_log_line import LogLine
from whimbrel.engine.response import Response
from whimbrel.http.syntax.head_shape import SplitHead
from whimbrel.server.worker.state import ListenerConfig, WorkerState

if TYPE_CHECKING:
    from whimbrel.engine.relay.relay import RelayExchange


class RequestCount(Protocol):
    """Holder of the number of responses of one connection: a `Connection`, or an HTTP/2 connection."""

    served: int


def account_response(
    service: WorkerState, holder: RequestCount, response: Response, count: int, more: int = 0
) -> None:
    """Log and count a response that was sent or has failed; for *count* and *more* see `Response.on_sent`."""
    service.requests += 1
    service.sent += count
    seconds = time() - response.received_at
    if seconds > 0.0:
        service.duration += seconds * 1000.0
    if not service.in_tick:
        service.count()
    try:
        response.on_sent(count, more)
    except Exception as problem:
        service.report(problem)
    holder.served += 1


def account_hit(
    service: WorkerState,
    holder: RequestCount,
    connection: Connection,
    cached: CachedResponse,
    head: SplitHead | None,
    more: int = 0,
) -> None:
    """Log and count a response from the cache that was sent.

    *head* is None if the bytes of the request's head are those of the entry; for *more* see
    `Response.on_sent`.
    """
    service.requests += 1
    service.sent += cached.size
    if more:
        service.engine.log_hit(cached, connection, head, more)
    elif head is None:
        if (
            cached.ready_tick == service.tick
            and cached.line_client == connection.client_ip
            and not connection.useragent_ip
            and not connection.notes
        ):
            for add, line in cached.adders:
                add(line)
        else:
            service.engine.log_hit(cached, connection)
            _make_ready(service, connection, cached)
    elif cached.is_log_line_stable and not connection.useragent_ip and not connection.notes:
        if cached.ready_tick_any_head == service.tick:
            for add, render in cached.loggers:
                add(render(head, connection.client_text, service.log_time))
        else:
            lines = cached.render_logs(head, connection, service.now)
            write = service.engine.runtime.write_log
            for (sink, _fill), line in zip(cached.writers, lines, strict=True):
                write(sink, line)
            _make_ready_for_any_head(service, connection, cached)
    else:
        service.engine.log_hit(cached, connection, head)
    holder.served += 1


def account_relayed(service: WorkerState, connection: Connection, exchange: RelayExchange) -> None:
    """Log and count the response of a relayed request that was sent."""
    reply = exchange.reply
    received = exchange.time
    service.requests += 1
    service.sent += reply.size
    seconds = time() - received
    if seconds > 0.0:
        service.duration += seconds * 1000.0
    if not service.in_tick:
        service.count()
    if (
        reply.ready_tick == service.tick
        and reply.line_client == connection.client_ip
        and 0.0 <= received - reply.line_second < 1.0
    ):
        for add, line in reply.adders:
            add(line)
    else:
        write = service.engine.runtime.write_log
        for sink, line in reply.log_lines(connection, received):
            write(sink, line)
        if service.in_tick:
            _make_ready(service, connection, reply)
    connection.served += 1


def _make_ready(service: WorkerState, connection: Connection, cached: CachedResponse) -> None:
    """Let *cached* answer the same bytes without validation until the end of this tick, if all its uses have
    the same lines.

    The next tick, a fraction of a millisecond later, sees changes on disk.
    """
    if cached.is_log_line_stable and not (
        cached.log_shows_size or cached.large or cached.file or connection.useragent_ip or connection.notes
    ):
        if cached.adders_lines is not cached.lines:
            lines = [line for _sink, line in cached.lines]
            cached.adders = tuple(zip(_appenders(service, cached), lines, strict=True))
            cached.adders_lines = cached.lines
        cached.line_client = connection.client_ip
        cached.ready_tick = service.tick


def _make_ready_for_any_head(service: WorkerState, connection: Connection, cached: CachedResponse) -> None:
    """Let *cached*, whose log lines are stable, answer heads with other bytes without validation until the
    end of this tick.
    """
    if cached.client is not None or cached.large or cached.file or cached.log_shows_size:
        return
    if not cached.loggers:
        templates = cached.templates(connection, service.now)
        if templates is None:
            return
        lines = [template.line for template in templates]
        cached.loggers = tuple(zip(_appenders(service, cached), lines, strict=True))
    cached.ready_tick_any_head = service.tick


def _appenders(service: WorkerState, cached: CachedResponse) -> list[Callable[[bytes], None]]:
    """Return the functions that take the log lines of *cached*."""
    appender = service.engine.runtime.log_appender
    return [appender(sink) for sink, _line in cached.writers]


def log_truncated(service: WorkerState, connection: Connection, listener: ListenerConfig) -> None:
    """Log that a file became shorter while it was sent, as httpd's core_output_filter does."""
    service.engine.log_connection(
        connection,
        listener.server,
        LogLine(
            "info" if listener.rules.version22 else "trace1",
            "core_output_filter: writing data to the network",
            "",
            "core",
            "(70014)End of file found",
            "core_filters.c(537)",
        ),
    )
