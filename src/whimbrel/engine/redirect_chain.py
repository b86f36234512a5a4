"""The chain of requests that internal redirects make, by `Request.prev` and `Request.next`."""

from __future__ import annotations

from whimbrel.base.static_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whimbrel.engine.request import Request


def first_request(r: Request) -> Request:
    """Return the request that *r* comes from by internal redirects; *r* itself without one."""
    while r.prev is not None:
        r = r.prev
    return r


def client_request(r: Request) -> Request:
    """Return the client's own request, which *r* comes from by redirects and sub-requests."""
    while (earlier := r.main or r.prev) is not None:
        r = earlier
    return r
