"""Scheme whose functions are imported at its first use: no check of a configuration needs them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from whimbrel.base.static_typing import TYPE_CHECKING, Any
from whimbrel.registry.phases import HookStatus

if TYPE_CHECKING:
    from whimbrel.engine.request import Request
    from whimbrel.modules.proxy.mod_proxy.scheme import ProxyCall


class LazyScheme:
    """A SchemeHandler; *load* imports and returns its functions ``canonicalize`` and ``handle``."""

    def __init__(self, load: Callable[[], tuple[Any, Any]]) -> None:
        self._load = load

    def canonicalize(self, r: Request, url: str) -> HookStatus:
        self._import()
        return self.canonicalize(r, url)

    def handle(self, call: ProxyCall) -> HookStatus | Awaitable[HookStatus]:
        self._import()
        return self.handle(call)

    def _import(self) -> None:
        """Let the functions take the place of these methods."""
        self.canonicalize, self.handle = self._load()  # type: ignore[method-assign]
