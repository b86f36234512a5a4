"""Relays of mod_proxy: what the schemes share; the rest is modules/support/backend_relay.py."""

from __future__ import annotations

from whimbrel.backends.connection import BackendConnection
from whimbrel.engine.relay.cache import RelayEntry
from whimbrel.engine.relay.relay import RelayClient
from whimbrel.http.syntax.head_shape import SplitHead
from whimbrel.modules.proxy.mod_proxy.backend import Endpoint, WorkerBackend, answer_timeout, is_debugged
from whimbrel.modules.proxy.mod_proxy.scheme import ProxyCall
from whimbrel.modules.proxy.mod_proxy.worker_state import ProxyWorkerState
from whimbrel.modules.support.backend_relay import BackendRelayExchange, LearnedRelay, may_relay


class ProxyRelay(LearnedRelay):
    """The way of equal requests without a body to one back end."""

    __slots__ = ("_pool", "_state", "_timeout")

    def __init__(self, call: ProxyCall, backend: WorkerBackend, endpoint: Endpoint) -> None:
        super().__init__()
        self._pool = endpoint.pool
        self._state = backend.state
        self._timeout = answer_timeout(call, backend.worker)


def may_offer(call: ProxyCall) -> bool:
    """Return True if nothing forbids that requests equal to that of *call* are relayed."""
    return (
        may_relay(call.r)
        and call.proxy is None
        and call.balancer is None
        and not is_debugged(call.r)  # each request logs its way
    )


class ProxyRelayExchange(BackendRelayExchange):
    """A request that was relayed to a back end of mod_proxy, whose state is `state`."""

    __slots__ = ("state",)

    def __init__(
        self,
        request: RelayEntry,
        head: SplitHead,
        client: RelayClient,
        connection: BackendConnection,
        state: ProxyWorkerState,
        sent: bytes,
        now: float,
    ) -> None:
        super().__init__(request, head, client, connection, sent, now)
        self.state = state

    def pass_on(self, response: bytes, *, is_reusable: bool) -> None:
        """See BackendRelayExchange; count the bytes."""
        self.state.count(len(self.sent), len(self.body))
        super().pass_on(response, is_reusable=is_reusable)
