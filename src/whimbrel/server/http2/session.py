"""Interface of a connection for its sender and its responder from the cache."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

from whimbrel.engine.log.error_log_line import LogLine
from whimbrel.engine.request import Connection
from whimbrel.http.http2.connection import ServerH2Connection
from whimbrel.http.http2.protocol import LogMessage
from whimbrel.http.syntax.head import HeadError
from whimbrel.server.http2.push import Pusher
from whimbrel.server.http2.stream import Stream
from whimbrel.server.worker.state import ListenerConfig, WorkerState


class Http2Session(Protocol):
    """Part of `Http2Connection` that sends responses.

    Attributes:
        pusher: promises resources
        settings: mod_http2's record of the server that the connection's address belongs to
        ended: nothing can be sent any more
        leaving: the connection takes no further streams
        served: responses that were sent
        resets: streams that ended before their response, beyond those that got one
        held: bytes of response bodies that wait in memory
        waiting: streams that wait for the client
        is_full: the client has to take data before more is sent
    """

    service: WorkerState
    connection: Connection
    listener: ListenerConfig
    wire: ServerH2Connection[Stream]
    settings: Any
    pusher: Pusher
    ended: bool
    leaving: bool
    served: int
    resets: int
    held: int
    waiting: int

    @property
    def is_full(self) -> bool: ...

    def flush(self) -> None:
        """Write the pending frames."""

    async def drain_output(self) -> None:
        """Wait until the client may have taken data."""

    def forget(self, stream: Stream) -> None:
        """Detach *stream*, whose response the client will not see."""

    def done(self, stream: Stream) -> None:
        """Account for a stream whose response has ended."""


def log_reasons(session: Http2Session, tag: str, reasons: tuple[LogMessage, ...]) -> None:
    """Log why the head of the stream *tag* is refused, as lines about the connection."""
    for reason in reasons:
        text = f"h2_stream({tag},IDLE): {reason.text}"
        line = LogLine(reason.level, text, reason.code, reason.module)
        session.service.engine.log_connection(session.connection, session.listener.server, line)


def log_error(session: Http2Session, tag: str, error: HeadError) -> HeadError:
    """Log the reasons of *error*; return it without them."""
    log_reasons(session, tag, error.reasons)
    return replace(error, reasons=())
