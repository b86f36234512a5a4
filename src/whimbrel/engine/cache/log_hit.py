"""Log lines of a hit of the response cache."""

from __future__ import annotations

from collections.abc import Callable

from whimbrel.engine.cache.entry import CachedResponse
from whimbrel.engine.cache.log_view import CachedRequestView
from whimbrel.engine.cache.raw_head import RawHead
from whimbrel.engine.connection import Connection
from whimbrel.engine.runtime import Runtime
from whimbrel.http.syntax.head_shape import SplitHead


def log_hit(
    cached: CachedResponse,
    connection: Connection,
    runtime: Runtime,
    now: float,
    log: Callable[..., None],
    head: SplitHead | None = None,
    count: int = -1,
    more: int = 0,
) -> None:
    """Write the log lines of one hit of *cached*.

    *head* is the request's head, None if its bytes are the cached head's; *count* is the number of body bytes
    (-1: all); for *more* see `Response.on_sent`.
    """
    if (
        cached.is_log_line_stable
        and not more
        and count in (-1, cached.size)
        and not connection.useragent_ip
        and not connection.notes
    ):
        if head is None:
            for sink, line in cached.log_lines(connection, now):
                runtime.write_log(sink, line)
        else:
            for (sink, _fill), line in zip(
                cached.writers, cached.render_logs(head, connection, now), strict=True
            ):
                runtime.write_log(sink, line)
        return
    view = CachedRequestView(cached, connection, now, None if head is None else RawHead(head[0]))
    if count >= 0:
        view.bytes_sent = count
    view.head_bytes += more
    for event in cached.events:
        log(view, event)
    for sink, fill in cached.writers:
        runtime.write_log(sink, fill(view))
