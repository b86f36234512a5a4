"""The .htaccess files on a request's way down: which names, which folders, and what to do when one is broken."""

from __future__ import annotations

from errno import ENOENT, ENOTDIR
from typing import TYPE_CHECKING, Final, NamedTuple

from whimbrel.config.configuration import Configuration
from whimbrel.config.htaccess import HtaccessCache, Override, override_of
from whimbrel.config.model import Layer
from whimbrel.engine.deps.files import ContentSignature, Dependencies, content_signature, is_settled_file
from whimbrel.engine.log.error_log_line import LogLine

if TYPE_CHECKING:
    from whimbrel.engine.plan.plan import Plan
    from whimbrel.engine.plan.plan_cache import PlanCache
    from whimbrel.engine.request import Request

Probe = tuple[str, ContentSignature | None]  # a file that was looked for, and how it was found
_ABSENT: Final = (ENOENT, ENOTDIR)
_NEVER: Final = (-1, -1, -1, -1, -1)  # the stamp of a file that has to be read again each time


def probes_unchanged(files: Dependencies, probes: tuple[Probe, ...]) -> bool:
    """Whether the files are as they were found before."""
    for path, stamp in probes:
        info = files.stat(path)
        if info is None:
            if stamp is not None or files.errno not in _ABSENT:
                return False
        elif (info.st_mtime_ns, info.st_size, info.st_ino, info.st_ctime_ns, info.st_dev) != stamp:
            return False
    return True


class HtaccessPolicy(NamedTuple):
    """What one plan says about such files: which lines are admitted, and the names to look for, () where none is read.

    *steady* says that what a folder has depends on that folder alone: no name is that of one file for all.
    """

    override: Override
    names: tuple[str, ...]
    is_per_directory: bool


class HtaccessResolver:
    """The .htaccess files of one engine.  A file that changed makes all plans stale, since they may hold its layer."""

    __slots__ = ("_cache", "_configuration", "_known", "_layers", "_plans")

    def __init__(self, configuration: Configuration, plans: PlanCache) -> None:
        self._configuration, self._plans = configuration, plans
        self._cache = HtaccessCache(configuration)
        self._layers: dict[tuple[str, object], Layer | None] = {}
        self._known: dict[
            str, tuple[ContentSignature, Override, Layer]
        ] = {}  # the last reading of a file that had nothing to complain of

    def policy(self, plan: Plan) -> HtaccessPolicy:
        """What *plan* says about them."""
        found: HtaccessPolicy | None = plan.notes.get(HtaccessPolicy)
        if found is None:
            override = override_of(self._configuration, plan.core)
            names = () if override.nothing else tuple(plan.server_core.access_names)
            found = plan.notes[HtaccessPolicy] = HtaccessPolicy(
                override, names, not any(name.startswith("/") for name in names)
            )
        return found

    def layer(self, r: Request, directory: str, rules: HtaccessPolicy, probes: list[Probe]) -> Layer | None:
        """The settings of the first of AccessFileName that *folder* (with its slash) has; raises HtaccessError for one that ends the request.

        *looks* is told of every file that was looked for.
        """
        for name in rules.names:
            path = name if name.startswith("/") else directory + name
            info = r.deps.stat(path)
            if info is None and r.deps.errno in _ABSENT:
                probes.append((path, None))
                continue
            stamp = _NEVER if info is None else content_signature(info)
            known = self._known.get(path)
            if known is not None and known[0] == stamp and known[1] is rules.override:
                probes.append((path, stamp))
                return known[2]
            if info is not None and not is_settled_file(info):
                stamp = _NEVER
            layer = self._read(r, path, rules.override, stamp, probes)
            if layer is not None:
                return layer
        return None

    def _read(
        self, r: Request, path: str, override: Override, stamp: ContentSignature, probes: list[Probe]
    ) -> Layer | None:
        parsed = self._cache.get(path, override, r.server)
        if parsed.messages:
            r.set_uncacheable()  # each answer comes with the lines
        for message in parsed.messages if _first_time(r, path, override) else ():
            r.engine.error_log.about_server(
                r.server, LogLine(message.level, message.text, message.code, message.module)
            )
        if parsed.error is not None:
            raise parsed.error
        layer = parsed.layer
        if layer is not None:
            self._note(path, override, layer)
        if layer is not None and not parsed.messages and stamp != _NEVER:
            self._known[path] = (stamp, override, layer)
            probes.append((path, stamp))
        else:
            probes.append((path, _NEVER))
        return layer

    def _note(self, path: str, override: object, layer: Layer) -> None:
        key = (path, override)
        known = self._layers.get(key)
        if known is not layer:
            self._layers[key] = layer
            if known is not None:
                self._plans.invalidate()


def _first_time(r: Request, path: str, override: Override) -> bool:
    """Whether no other request on behalf of the same one of the client (a sub-request, say) has read the file under these rules."""
    first = r
    while before := first.main or first.prev:
        first = before
    key = f"htaccess {override} {path}"
    if key in first.notes:
        return False
    first.notes[key] = ""
    return True
