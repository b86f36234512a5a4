"""The interfaces by which other modules plug into mod_proxy: schemes and the balancer.

A module registers `Provider("proxy_scheme", NAME, handler)` for each scheme that it speaks (``http``,
``fcgi`` ...), ``connect`` for the method CONNECT; mod_proxy_balancer registers
`Provider("proxy_scheme", "balancer", ...)` and `Provider("proxy_balancer", "default", ...)`.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Protocol

from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.registry.phases import HookStatus

if TYPE_CHECKING:
    from whimbrel.engine.request import Request
    from whimbrel.modules.proxy.mod_proxy.model import ProxyBalancer, ProxyWorker
    from whimbrel.modules.proxy.mod_proxy.settings import ProxyDirConfig, ProxyRemote, ProxyServerConfig
    from whimbrel.modules.proxy.mod_proxy.worker_state import ProxyWorkerState

SCHEMES = "proxy_scheme"  # group of providers
BALANCERS = "proxy_balancer"


class PreparedBody(Protocol):
    """The body of a request as a scheme has begun to read it."""

    def close(self) -> None:
        """Release what holds it."""


@dataclass(slots=True, eq=False)
class ProxyCall:
    """One attempt to have a request answered by a back end: the arguments of httpd's scheme_handler.

    Attributes:
        url: the URL to fetch, as the balancer chose it; `scheme` is that of `r.filename`.
        worker: the back end; a balancer's `pre_request` sets it. `balancer`: None without one.
        proxy: the proxy of ProxyRemote to connect to in place of the URL's host, or None.
        conf, dir_conf: the merged settings of mod_proxy.
        attempt: number of earlier attempts, which a balancer's failover causes.
        body: what an attempt has read of the request's body, for the next member of the balancer.
        elected: states of the members that are busy with the request, as mod_proxy_balancer counts them.
    """

    r: Request
    url: str
    scheme: str
    conf: ProxyServerConfig
    dir_conf: ProxyDirConfig
    worker: ProxyWorker | None = None
    balancer: ProxyBalancer | None = None
    proxy: ProxyRemote | None = None
    attempt: int = 0
    body: PreparedBody | None = None
    elected: list[ProxyWorkerState] = field(default_factory=list)


class SchemeHandler(Protocol):
    """A scheme that mod_proxy can speak."""

    def canonicalize(self, r: Request, url: str) -> HookStatus:
        """Set `r.filename` to ``proxy:`` and the canonical form of *url* (httpd's canon_handler hook).

        Return OK, DECLINED if *url* has another scheme, or the status of a refusal.
        """

    def handle(self, call: ProxyCall) -> HookStatus | Awaitable[HookStatus]:
        """Answer `call.r` by the back end; DECLINED if the URL has another scheme (scheme_handler).

        503 marks the worker as failed, and another member of its balancer is tried.
        """


class TranslationCheck(Protocol):
    """A scheme that takes only some of the requests that ProxyPass maps to it (httpd's check_trans hook)."""

    def check_translation(self, r: Request, url: str) -> HookStatus:
        """Return OK or DECLINED to accept the mapping, any other status to try the next ProxyPass."""


class BalancerHooks(Protocol):
    """The part of mod_proxy_balancer that mod_proxy calls."""

    def pre_request(self, call: ProxyCall) -> HookStatus | Awaitable[HookStatus]:
        """Choose a member for a URL ``balancer://...``: set worker, balancer and url of *call*.

        Return OK, DECLINED for all other URLs, 503 if no member is usable.
        """

    def post_request(self, call: ProxyCall) -> HookStatus:
        """Count a finished attempt; `call.r.status` is its status."""

    def set_error(self, call: ProxyCall) -> None:
        """Mark the worker of *call*, a member, as failed now, unless it ignores errors."""

    def is_usable(self, call: ProxyCall) -> bool:
        """Return True if the worker of *call* may be chosen: no bit of `WorkerStatus.UNUSABLE` is set."""

    def max_attempts(self, call: ProxyCall) -> int:
        """Return how many further members are tried after the first."""

    def give_up(self, call: ProxyCall) -> None:
        """Count *call*, which an exception has ended, as finished."""
