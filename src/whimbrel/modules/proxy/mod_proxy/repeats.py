"""Proxied requests that come again: what the handlers of schemes have prepared for them.

A request with the fields, client and URL of an earlier one goes to the same back end with the same bytes, as
long as nothing but the request and the settings decides. A scheme handler stores a `Repeat` for it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.http.semantics.tracked_headers import TrackedHeaders
from whimbrel.registry.phases import HookStatus

if TYPE_CHECKING:
    from whimbrel.engine.plan.plan import Plan
    from whimbrel.engine.request import Request

NOTE: Final = "proxy repeats"
MAX_REPEATS: Final = 256  # of each plan; a full cache is emptied
MAX_HEAD: Final = 4096  # bytes of the fields of a request that is remembered
# Variables that change how a request is sent.
VARIABLES: Final = frozenset(
    (
        "force-proxy-request-1.0",
        "proxy-nokeepalive",
        "proxy-initial-not-pooled",
        "proxy-interim-response",
        "proxy-sendextracrlf",
        "Proxy-Chain-Auth",
    )
)
RepeatKey = tuple[str, str, bytes, str]
General = Callable[["Request"], Awaitable[HookStatus]]


class Repeat(ABC):
    """A request that was sent before."""

    __slots__ = ()

    @abstractmethod
    def start(self, r: Request, general: General) -> Awaitable[HookStatus] | None:
        """Send the request again for *r* and return what awaits the response; None if that cannot be done
        now. *general* answers *r* in the general way.
        """


Repeats = BoundedDict[RepeatKey, Repeat | None]


def repeats_of(plan: Plan) -> Repeats:
    """Return what is remembered for requests under *plan*."""
    known: Repeats | None = plan.notes.get(NOTE)
    if known is None:
        known = BoundedDict(MAX_REPEATS)
        plan.notes[NOTE] = known
    return known


def repeat_key(r: Request) -> RepeatKey | None:
    """Return the key of *r*; None if more decides about it than its fields, its URL and its client.

    A target in absolute form replaces Host, and may be one of a forward request.
    """
    headers = r.headers_in
    head = r.head
    connection = r.connection
    env = r.env
    if (
        headers.__class__ is not TrackedHeaders
        or headers.all_fields_used
        or head is None
        or head.url is not None
        or r.body_in.length != 0
        or r.user is not None
        or r.hostname is None
        or r.main is not None
        or r.expecting_100
        or connection.is_http2
        or connection.useragent_ip
        or r.filename is None
        or not _is_ordinary(env)
    ):
        return None
    raw = head.raw
    if not raw or len(raw) > MAX_HEAD:
        return None
    return (r.filename, r.method, raw[raw.find(b"\n") :], connection.client_ip)


def _is_ordinary(env: Any) -> bool:
    """Return True if no variable changes how the request is sent."""
    if not env:
        return True
    return VARIABLES.isdisjoint(env) if env.__class__ is dict else not any(name in env for name in VARIABLES)
