"""Identity of merged settings: which settings a request shares with the request that it comes from.

httpd compares the settings of a sub-request or redirect with those of its origin by address. Each walk
reuses the merge of the origin's walk if it began with the same settings and found the same sections; else it
merges anew (the walk caches of request.c). Requests with equal plans may therefore have different settings.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from whimbrel.config.model import WALKS, Layer
from whimbrel.engine.deps.files import is_directory, is_file
from whimbrel.engine.plan.plan import Plan
from whimbrel.engine.request import Request
from whimbrel.http.syntax.url import merge_slashes

Layers = tuple[Layer, ...]

PER_REQUEST_MODULES: Final = (
    "mod_allowmethods.c",
    "mod_log_debug.c",
    "mod_lua.c",
    "mod_fcgid.c",
    "mod_wsgi.c",
)
"""Modules whose access hooks are not declared to depend on the settings alone (AP_AUTH_INTERNAL_PER_CONF).
With one of these loaded, a walk is reused for the same path only.
"""


class Merge(NamedTuple):
    """Result of one walk: *layers* merged on *base*; *key* is the path that was walked.

    *base* and *result* are compared by identity. A walk without layers leaves its base.
    """

    base: object
    layers: Layers
    result: object
    key: str = ""


UNFINISHED: Final = Merge(None, (), None)


class Merges:
    """Results of the walks of one request.

    Attributes:
        by_file: True for a sub-request that began with a file name.
        early: the location walk before the URL is translated.
        directory, files, location: the walks of the file that the URL is mapped to; None before them.
        ifs: one for each level of each if walk.
        own: the settings after the last walk; `current`: those of a fast redirect to a sub-request, or None.
    """

    __slots__ = ("by_file", "current", "directory", "early", "files", "ifs", "location", "own")

    def __init__(self, *, by_file: bool = False) -> None:
        self.by_file = by_file
        self.early: Merge | None = None
        self.directory: Merge | None = None
        self.files: Merge | None = None
        self.location: Merge | None = None
        self.ifs: list[Merge] = []
        self.own: object = None
        self.current: object = None

    def copy(self) -> Merges:
        """Return a copy for another request with the same walks."""
        merges = Merges(by_file=self.by_file)
        merges.early = self.early
        merges.directory = self.directory
        merges.files = self.files
        merges.location = self.location
        merges.ifs = [*self.ifs]
        merges.own = self.own
        merges.current = self.current
        return merges


def origin(r: Request) -> Request | None:
    """Return the request that *r* comes from: by a redirect, else as its sub-request."""
    return r.prev if r.prev is not None else r.main


def shares_settings(r: Request, earlier: Request) -> bool:
    """Return True if *r* has the very settings of *earlier*, so that what admitted this admits *r*."""
    if r.plan is not earlier.plan:
        return False
    if r.plan.is_always_granted or not r.plan.layers:
        return True
    return settings_of(r) is settings_of(earlier)


def settings_of(r: Request) -> object:
    """Return the identity of the settings of *r*."""
    merges = merges_of(r)
    return merges.own if merges.current is None else merges.current


def adopt(sub: Request, r: Request) -> None:
    """Record a fast redirect of *r* to *sub*, before the plan of *r* is replaced."""
    merges_of(r).current = settings_of(sub)


def is_per_settings(plan: Plan) -> bool:
    """Return True if all access hooks are declared to depend on the settings alone."""
    known: bool | None = plan.notes.get(PER_REQUEST_MODULES)
    if known is None:
        known = not any(map(plan.loaded, PER_REQUEST_MODULES))
        plan.notes[PER_REQUEST_MODULES] = known
    return known


def merges_of(r: Request) -> Merges:
    """Return the merges of *r*, with all walks but the if walk brought up to date."""
    merges: Merges | None = r.merges
    if merges is None:
        merges = Merges()
        r.merges = merges
    if r.directory_walk is None:
        if merges.early is None:
            _walk_early(r, merges)
    elif merges.location is None:
        _walk_file(r, merges)
    return merges


def _walk_early(r: Request, merges: Merges) -> None:
    before = origin(r)
    known = merges_of(before).early if before is not None else None
    merges.early = _merged(r, known, r.server, _split(r.plan)[2], merge_slashes(r.uri))
    merges.own = merges.early.result


def _walk_file(r: Request, merges: Merges) -> None:
    """Record the walks to the file.  A location walk that began with a file name is not the counterpart of
    one that began with a URL, which is the third of its request.
    """
    before = origin(r)
    known = merges_of(before) if before is not None else merges
    layers = _split(r.plan)
    path = r.filename or ""
    directory = path[: path.rfind("/") + 1]
    if is_file(r.finfo):
        entry = directory
    elif path.endswith("/"):
        entry = path
    else:
        entry = path + "/"
    familiar = known.directory is not None and known.directory.key == entry and r.finfo is not None
    first = _merged(r, known.directory, r.server, layers[0], entry if familiar else "")
    if familiar:
        ended = entry
    elif is_directory(r.finfo):
        ended = path
    else:
        ended = directory
    merges.directory = first._replace(key=ended)
    merges.files = _merged(r, known.files, first.result, layers[1], path.rpartition("/")[2])
    earlier = known.location if known.by_file is merges.by_file else None
    merges.location = _merged(r, earlier, merges.files.result, layers[2], merge_slashes(r.uri))
    merges.own = merges.location.result


def _merged(r: Request, known: Merge | None, base: object, layers: Layers, key: str) -> Merge:
    """Return the merge of *layers* on *base*, that of *known* if it is the same."""
    if not layers:
        return Merge(base, layers, base, key)
    if known is None or known.layers != layers or known.base is not base:
        return Merge(base, layers, object(), key)
    return Merge(base, layers, known.result if is_per_settings(r.plan) or known.key == key else object(), key)


def _split(plan: Plan) -> tuple[Layers, Layers, Layers]:
    """Return the layers of a plan by the walk that found them: directory, files, location."""
    found: list[list[Layer]] = [[], [], [], []]
    for layer in plan.layers:
        found[WALKS.get(layer.kind, 0)].append(layer)
    return tuple(found[0]), tuple(found[1]), tuple(found[2])


def begin_if_level(r: Request, merges: Merges) -> Merge:
    """Begin one level of an if walk: return the merge that it may reuse.

    Sub-requests of its conditions find the unfinished level, as in httpd.
    """
    before = origin(r)
    known = merges_of(before).ifs if before is not None else ()
    index = len(merges.ifs)
    if index < len(known):
        earlier = known[index]
    elif merges.ifs:
        earlier = merges.ifs[-1]
    else:
        earlier = UNFINISHED
    merges.ifs.append(earlier)
    return earlier


def end_if_level(r: Request, merges: Merges, earlier: Merge, layers: Layers) -> bool:
    """End one level of an if walk that found *layers*.

    Return True if it reuses *earlier*: httpd then ends the walk without the nested sections.
    """
    if earlier.base is merges.own and earlier.layers == layers and is_per_settings(r.plan):
        merges.own = earlier.result
        return True
    result = object() if layers else merges.own
    merges.ifs[-1] = Merge(merges.own, layers, result)
    merges.own = result
    return False
