"""Look-ahead sub-requests of conditions (-U, -F, -A, %{LA-U:...}): when they may run, and how many.

LimitInternalRecursion bounds how deep they nest.  Three in each level are thousands in all, which httpd runs.
Here they would keep the event loop from other clients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

MAX_LOOKUPS: Final = 256  # sub-requests within one outermost look-ahead: some 40 ms


def may_probe(r: Request) -> bool:
    """Return True if *r* may look up a URL: no sub-request with the URL of its main request (httpd ends
    recursions so).
    """
    return r.main is None or r.main.uri != r.uri


async def probe_target(r: Request, target: str, *, by_file: bool) -> Request:
    """Return the sub-request for a file or URL; raise TooManyLookups, which is logged."""
    deps = r.deps
    engine = r.engine
    is_outermost = not deps.lookups
    deps.lookups += 1
    try:
        if deps.lookups > MAX_LOOKUPS:
            from whimbrel.engine.pipeline.redirect import TooManyLookups, log_subrequest_limit

            log_subrequest_limit(r)
            raise TooManyLookups
        found: Request = await (engine.lookup_file(r, target) if by_file else engine.lookup_uri(r, target))
        return found
    finally:
        if is_outermost:
            deps.lookups = 0
