"""Accounting of responses: counters of the worker and the connection, log lines, state of cache entries.

Both protocols write a response in their own way, and then call `account_response`, or `account_hit` where the
response came from the cache.
"""

from __future__ import annotations

from time import time
from typing import TYPE_CHECKING, Protocol

from whimbrel.engine.cache.entry import Hit
from whimbrel.engine.connection import Connection
from whimbrel.engine.log.error_log_line import LogLine
from whimbrel.engine.response import Response
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
    service: WorkerState, holder: RequestCount, connection: Connection, hit: Hit, more: int = 0
) -> None:
    """Log and count a response from the cache that was sent; for *more* see `Response.on_sent`."""
    cached, head = hit
    log = cached.log
    service.requests += 1
    service.sent += cached.template.size
    is_plain = not more and not connection.useragent_ip and not connection.notes
    if is_plain and cached.ready_tick == service.tick:
        log.append(head, connection.client_text, service.log_time)
    else:
        log.write(head, cached.template, connection, service.now, more=more)
        if is_plain and service.is_busy:
            cached.make_ready(connection, service.engine.runtime, service.tick)
    holder.served += 1


def account_relay(service: WorkerState, connection: Connection, exchange: RelayExchange) -> None:
    """Log and count the response of a relayed request that was sent."""
    reply = exchange.reply
    log = reply.log
    received = exchange.time
    service.requests += 1
    service.sent += reply.template.size
    seconds = time() - received
    if seconds > 0.0:
        service.duration += seconds * 1000.0
    if not service.in_tick:
        service.count()
    log.write(exchange.request_head, reply.template, connection, received)
    connection.served += 1


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
