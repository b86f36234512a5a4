"""End of a request whose client has gone away: its sources are closed, and it is logged."""

from __future__ import annotations

from whimbrel.engine.body import JoinedSource
from whimbrel.engine.connection import Connection
from whimbrel.engine.request import Request
from whimbrel.engine.response import Response


async def abandon(connection: Connection) -> Response:
    """Close the sources of the present request; return its response, which has no bytes and is not cached.

    Called in the task of the request after its cancellation.
    """
    connection.aborted = True
    await close_sources(connection)
    r: Request = connection.request
    while r.next is not None:
        r = r.next
    r.set_uncacheable()
    return Response(r, b"", b"", [], close=True)


def failed_response(connection: Connection) -> Response | None:
    """Return the response to the present request after an internal error, for the log; None without a
    request. The protocol sends a 500 of its own.
    """
    r: Request | None = connection.request
    if r is None:
        return None
    while r.next is not None:
        r = r.next
    r.status = 500
    r.set_uncacheable()
    return Response(r, b"", b"", [], close=True)


async def close_sources(connection: Connection) -> None:
    """Close the sources of the present request, whose response is not sent."""
    r: Request | None = connection.request
    while r is not None:
        body, r.body = r.body, []
        await JoinedSource(body).aclose()
        r = r.next
    for source in list(connection.open_sources):
        await source.aclose()
