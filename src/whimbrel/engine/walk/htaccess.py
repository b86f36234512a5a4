""".htaccess files of a request: names, directories, and errors."""

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

Probe = tuple[str, ContentSignature | None]  # path of a .htaccess file, and its signature
_ABSENT: Final = (ENOENT, ENOTDIR)
_NEVER: Final = (-1, -1, -1, -1, -1)  # the stamp of a file that has to be read again each time


def probes_unchanged(files: Dependencies, probes: tuple[Probe, ...]) -> bool:
    """Return True if the files have the signatures that were recorded."""
    for path, stamp in probes:
        info = files.stat(path)
        if info is None:
            if stamp is not None or files.errno not in _ABSENT:
                return False
        elif (info.st_mtime_ns, info.st_size, info.st_ino, info.st_ctime_ns, info.st_dev) != stamp:
            return False
    return True


class HtaccessPolicy(NamedTuple):
    """The .htaccess policy of one plan: the admitted directives, and the file names; () if no file is read.

    *is_per_directory*: the result for a directory depends on that directory alone, as no name is absolute.
    """

    override: Override
    names: tuple[str, ...]
    is_per_directory: bool


class HtaccessResolver:
    """The .htaccess files of an engine; a changed file invalidates all plans, which may have its layer."""

    __slots__ = ("_cache", "_configuration", "_known", "_layers", "_plans")

    def __init__(self, configuration: Configuration, plans: PlanCache) -> None:
        self._configuration = configuration
        self._plans = plans
        self._cache = HtaccessCache(configuration)
        self._layers: dict[tuple[str, object], Layer | None] = {}
        self._known: dict[
            str, tuple[ContentSignature, Override, Layer]
        ] = {}  # files that gave no message when they were last read

    def policy(self, plan: Plan) -> HtaccessPolicy:
        """Return the policy of *plan*."""
        policy: HtaccessPolicy | None = plan.notes.get(HtaccessPolicy)
        if policy is None:
            override = override_of(self._configuration, plan.core)
            names = () if override.nothing else tuple(plan.server_core.access_names)
            policy = HtaccessPolicy(override, names, not any(name.startswith("/") for name in names))
            plan.notes[HtaccessPolicy] = policy
        return policy

    def layer(self, r: Request, directory: str, rules: HtaccessPolicy, probes: list[Probe]) -> Layer | None:
        """Return the layer of the first of the policy's files that exists in *directory* (with its slash).

        *probes* receives every file that was looked up. Raise HtaccessError for a file that ends the request.
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
            r.set_uncacheable()  # each response repeats the log lines
        for message in parsed.messages if _first_time(r, path, override) else ():
            r.engine.error_log.about_server(
                r.server, LogLine(message.level, message.text, message.code, message.module)
            )
        if parsed.error is not None:
            if parsed.error.status == 403:  # the file may be readable at the next request
                r.set_uncacheable()
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
    """Return True if no request for the same client request has read the file under this policy."""
    first = r
    while before := first.main or first.prev:
        first = before
    key = f"htaccess {override} {path}"
    if key in first.notes:
        return False
    first.notes[key] = ""
    return True
