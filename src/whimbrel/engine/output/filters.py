"""Run the output filters of a request."""

from __future__ import annotations

from whimbrel.engine.input.body import Joined, Stream
from whimbrel.engine.request import Request


async def run_output_filters(r: Request) -> None:
    """Run the output filters of *r* on its response; await those that are asynchronous."""
    if r.stream is not None and r.body:
        r.stream, r.body = Joined([r.stream, *r.body]), []
    for change in r.output_filters:
        waiting = change(r)
        if waiting is not None:
            await waiting


def append_stream(r: Request, stream: Stream) -> None:
    """Add *stream* behind everything that the body of *r* has."""
    before = [] if r.stream is None else [r.stream]
    r.stream = Joined([*before, *r.body, stream])
    r.body.clear()
