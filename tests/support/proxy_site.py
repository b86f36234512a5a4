"""A site whose back ends are played by a scheme handler in this process, which answers with its call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.access_site import AccessSite
from whimbrel.modules.proxy.mod_proxy.canonical_url import UrlPart, canonical_encoding
from whimbrel.modules.proxy.mod_proxy.scheme import ProxyCall
from whimbrel.registry.phases import DECLINED, FORWARD_PROXY, OK, HookStatus

MODULES = {
    "2.2": "log_config dir authz_host rewrite env setenvif proxy",
    "2.4": "mpm_event authz_core dir authz_host rewrite env setenvif proxy",
}


class EchoScheme:
    """A scheme like mod_proxy_http's: canonical URLs; the answer is worker, URL and proxy of the call.

    Attributes:
        statuses: results of the next calls, in order; OK when they are used up.
    """

    def __init__(self, *schemes: str) -> None:
        self.schemes = schemes
        self.calls: list[tuple[Any, ...]] = []
        self.statuses: list[HookStatus] = []

    def canonicalize(self, r: Any, url: str) -> HookStatus:
        """Encode path and query of *url*, whose host is not changed."""
        scheme, _, rest = url.partition("://")
        if scheme not in self.schemes and not scheme.startswith("unix:"):
            return DECLINED
        host, _, path = rest.partition("/")
        query = r.args
        if r.proxy == FORWARD_PROXY or "proxy-nocanon" in r.notes:
            query = None
        elif "proxy-noencode" not in r.notes:
            encoded = canonical_encoding(path, UrlPart.PATH)
            if encoded is None:
                return 400
            path = encoded
        r.filename = f"proxy:{scheme}://{host}/{path}{'' if query is None else '?' + query}"
        return OK

    def handle(self, call: ProxyCall) -> HookStatus:
        """Answer with the call."""
        name = None if call.worker is None else call.worker.name
        proxy = None if call.proxy is None else (call.proxy.hostname, call.proxy.port)
        self.calls.append((name, call.url, proxy))
        if self.statuses:
            return self.statuses.pop(0)
        call.r.content_type = "text/plain"
        call.r.write(call.url)
        return OK


class ProxySite(AccessSite):
    """A site with mod_proxy and `EchoScheme` for http and fcgi."""

    def __init__(self, root: Path, conf: str, version: str = "2.4", modules: str = "") -> None:
        super().__init__(root, conf, version, modules or MODULES[version])
        self.scheme = EchoScheme("http", "fcgi")
        for name in self.scheme.schemes:
            self.engine.configuration.modules.register_provider("proxy_scheme", name, self.scheme)

    def url(self, path: str, **more: str) -> str:
        """Return the URL that the back end is asked for, or the status of a response without one."""
        self.scheme.calls.clear()
        reply = self.fetch(path, **more)
        return str(self.scheme.calls[-1][1]) if self.scheme.calls else reply.split(" ", 2)[1]
