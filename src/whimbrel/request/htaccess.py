"""The .htaccess files on a request's way down: which names, which folders, and what to do when one is broken."""

from __future__ import annotations

from errno import ENOENT, ENOTDIR
from typing import TYPE_CHECKING

from whimbrel.config.configuration import Configuration
from whimbrel.config.core import CoreFolder, CoreServer
from whimbrel.config.htaccess import HtaccessCache, override_of
from whimbrel.config.model import Layer

if TYPE_CHECKING:
    from whimbrel.request.plan import World
    from whimbrel.request.record import Request

_OVERRIDE = "htaccess override"
_ABSENT = (ENOENT, ENOTDIR)


class Htaccess:
    """The .htaccess files of one engine.  A file that changed makes all plans stale, since they may hold its layer."""

    __slots__ = ("_cache", "_configuration", "_layers", "_world")

    def __init__(self, configuration: Configuration, world: World) -> None:
        self._configuration, self._world = configuration, world
        self._cache = HtaccessCache(configuration)
        self._layers: dict[tuple[str, object], Layer | None] = {}

    def layer(self, r: Request, folder: str) -> Layer | None:
        """The settings of the first of AccessFileName that *folder* (with its slash) has; raises HtaccessError for one that ends the request."""
        plan = r.plan
        override = plan.notes.get(_OVERRIDE)
        if override is None:
            override = plan.notes[_OVERRIDE] = override_of(self._configuration, plan.folder(CoreFolder))
        if override.nothing:
            return None
        for name in r.server.conf(CoreServer).access_names:
            path = name if name.startswith("/") else folder + name
            info = r.files.stat(path)
            if info is None and r.files.errno in _ABSENT:
                continue
            parsed = self._cache.get(path, override, r.server)
            for message in parsed.messages:
                r.log(message.level, message.text, code=message.code, module=message.module)
            if parsed.error is not None:
                raise parsed.error
            if parsed.layer is not None:
                self._note(path, override, parsed.layer)
                return parsed.layer
        return None

    def _note(self, path: str, override: object, layer: Layer) -> None:
        key = (path, override)
        known = self._layers.get(key)
        if known is not layer:
            self._layers[key] = layer
            if known is not None:
                self._world.forget()
