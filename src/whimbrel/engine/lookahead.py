"""Bounds of requests within a request: LimitInternalRecursion, and the look-ahead sub-requests of conditions
(-U, -F, -A, %{LA-U:...}).

LimitInternalRecursion bounds how deep they nest.  Three in each level are thousands in all, which httpd runs.
Here they would keep the event loop from other clients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whimbrel.config.core_config import CoreServerConfig
from whimbrel.engine.output.filter import FilterError

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

MAX_LOOKUPS: Final = 256  # sub-requests within one outermost look-ahead: some 40 ms


_LIMIT_HINT = (
    "Use 'LimitInternalRecursion' to increase the limit if necessary. Use 'LogLevel debug' to "
    "get a backtrace."
)


class TooManyLookups(FilterError):
    """One look-ahead needs more sub-requests than `MAX_LOOKUPS`: the response to the client is a 500.

    Neither result of the condition would be right, so no condition gets one.
    """


def is_too_deep(r: Request) -> bool:
    """Return True, logged, if LimitInternalRecursion forbids one more redirect or sub-request."""
    limits = r.server_conf(CoreServerConfig)
    redirects = 0
    subrequests = 0
    top: Request | None = r
    while top is not None:
        if top.prev is not None:
            redirects += 1
            if limits.max_redirects and redirects >= limits.max_redirects:
                what = f"{limits.max_redirects} internal redirects due to probable configuration error."
                r.log("error", f"Request exceeded the limit of {what} {_LIMIT_HINT}", code="AH00124")
                return True
        elif top.main is not None:
            subrequests += 1
            if limits.max_subrequests and subrequests >= limits.max_subrequests:
                log_subrequest_limit(r)
                return True
        top = top.prev if top.prev is not None else top.main
    return False


def log_subrequest_limit(r: Request) -> None:
    """The line about a request whose sub-requests are too many."""
    word = "confguration" if r.plan.dialect.wire_22 else "configuration"  # as 2.2 spells it
    what = (
        f"{r.server_conf(CoreServerConfig).max_subrequests} subrequest nesting levels due to probable "
        f"{word} error."
    )
    r.log("error", f"Request exceeded the limit of {what} {_LIMIT_HINT}", code="AH00125")


def may_probe(r: Request) -> bool:
    """Return True if *r* may look up a URL: it is no sub-request with its main request's URL."""
    return r.main is None or r.main.uri != r.uri


async def probe_target(r: Request, target: str, *, by_file: bool) -> Request:
    """Return the sub-request for a file or URL; raise TooManyLookups, which is logged."""
    deps = r.deps
    engine = r.engine
    is_outermost = not deps.lookups
    deps.lookups += 1
    try:
        if deps.lookups > MAX_LOOKUPS:
            log_subrequest_limit(r)
            raise TooManyLookups
        return await (engine.lookup_file(r, target) if by_file else engine.lookup_uri(r, target))
    finally:
        if is_outermost:
            deps.lookups = 0
