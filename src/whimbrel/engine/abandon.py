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
    r: Request = connection.request
    connection.aborted = True
    while True:
        body, r.body = r.body, []
        await JoinedSource(body).aclose()
        r.set_uncacheable()
        if r.next is None:
            break
        r = r.next
    for source in list(connection.open_sources):
        await source.aclose()
    return Response(r, b"", b"", [], close=True)
