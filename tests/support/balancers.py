"""Engines with balancers whose members answer in the process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.engine import build_engine
from whimbrel.engine.engine import Engine
from whimbrel.modules.proxy.mod_proxy.scheme import SCHEMES, ProxyCall
from whimbrel.modules.proxy.mod_proxy.worker_state import worker_states
from whimbrel.registry.phases import DECLINED, OK, HookStatus
from whimbrel.testing.fake_runtime import FakeRuntime

MODULES = {
    "2.4": "proxy proxy_balancer slotmem_shm lbmethod_byrequests lbmethod_bytraffic lbmethod_bybusyness",
    "2.2": "proxy proxy_balancer",
}


class Member:
    """A scheme that answers with the URL; members in *down* refuse connections, *statuses* have their own.

    *traffic* bytes are counted as sent to the member for each request.
    """

    def __init__(self) -> None:
        self.down: set[int] = set()
        self.statuses: dict[int, int] = {}
        self.traffic = 0
        self.env: dict[str, str] = {}
        self.urls: list[str] = []

    def canonicalize(self, r: Any, url: str) -> HookStatus:
        return DECLINED

    def handle(self, call: ProxyCall) -> HookStatus:
        """Answer with the name of the worker, or fail."""
        worker = call.worker
        assert worker is not None
        state = worker_states(call.r.engine)[worker]
        if worker.port in self.down:
            state.set_error(call.r.engine.runtime.now())
            return 503
        state.count(self.traffic, 0)
        self.env = call.r.env
        self.urls.append(call.url)
        call.r.status = self.statuses.get(worker.port, 200)
        call.r.content_type = "text/plain"
        call.r.write(str(worker.port))
        return OK


def balancing(root: Path, conf: str, version: str = "2.4", more: str = "") -> tuple[Engine, Member]:
    """Return an engine on *conf*, with *more* modules, and the scheme of its members."""
    names = [*MODULES[version].split(), *more.split()]
    lines = "".join(f"LoadModule {name}_module modules/mod_{name}.so\n" for name in names)
    engine = build_engine(root, lines + conf, version=version)
    runtime = engine.runtime
    assert isinstance(runtime, FakeRuntime)
    runtime.open_segments(engine.configuration)
    member = Member()
    engine.configuration.modules.register_provider(SCHEMES, "http", member)
    return engine, member


def cluster(*members: str, settings: str = "", after: str = "") -> str:
    """Return a balancer with *members* (parameters after the port), and a ProxyPass to it."""
    lines = "".join(f"BalancerMember http://127.0.0.1:{member}\n" for member in members)
    own = f"ProxySet {settings}\n" if settings else ""
    return f"<Proxy balancer://cl>\n{lines}{own}</Proxy>\nProxyPass /b/ balancer://cl/\n{after}"
