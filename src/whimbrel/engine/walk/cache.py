"""Cache of directory walks, with the conditions under which an entry stays valid.

A walk reads the file system at every directory only where symbolic links are not trusted, and .htaccess files
only where overrides are allowed. Otherwise the directory in which it ends determines the result.
"""

from __future__ import annotations

import errno
import os
from stat import S_IFDIR, S_IFLNK, S_IFREG
from typing import TYPE_CHECKING, NamedTuple

from whimbrel.config.model import Layer, Section
from whimbrel.engine.deps.files import KIND, is_directory, is_file
from whimbrel.engine.request import Request
from whimbrel.engine.walk.htaccess import Probe, probes_unchanged
from whimbrel.engine.walk.matching import directory_matches, regex_directories

if TYPE_CHECKING:
    from whimbrel.engine.plan.plan import Plan


class WalkResult(NamedTuple):
    """Result of a directory walk: the directory in which it ended, the plan before and the plan after it.

    A directory that the request names without a slash stays so: as in httpd, the walk is then no other's.
    """

    directory: str
    before: Plan
    after: Plan


class WalkState(NamedTuple):
    """State of a walk in its last directory.

    Attributes:
        before: the plan at its beginning; `found`: the layers that it has merged.
        beside: the sections that apply at the next path segment at the earliest.
        probes: the .htaccess files that existed or not.
        directories: paths that have to be directories and no symbolic links; `strict`: so has the file.
    """

    directory: str
    before: Plan
    found: Layer | None
    beside: tuple[Section, ...]
    probes: tuple[Probe, ...]
    checked_directories: tuple[str, ...]
    strict: bool


class CachedWalk:
    """Key: the directory; value: a walk that ended there. An entry is valid while `is_valid`; the bound is
    that of `Plan.walks`.

    Attributes:
        state: the state at the end of the walk.
        beside, wild: patterns of the sections that may match the file itself, as httpd treats it as one
            more directory where links are trusted; those with wildcards.
        simple: True if nothing else decides about the file.
        settled: True if the entry cannot become invalid.
        regexes: True if there are <DirectoryMatch> sections, which match the whole path.
    """

    __slots__ = ("beside", "state", "regexes", "is_unconditional", "needs_no_check", "result", "wild")

    def __init__(self, r: Request, end: WalkState) -> None:
        self.state = end
        beside = () if end.strict else end.beside
        self.beside = frozenset(section.pattern for section in beside if not section.fnmatch)
        self.wild = tuple(section for section in beside if section.fnmatch)
        self.needs_no_check, self.is_unconditional = (
            not (end.strict or self.wild),
            not (end.checked_directories or end.probes),
        )
        self.regexes = bool(r.engine.regex_directories(r.server))
        self.result = WalkResult(
            end.directory, end.before, end.before if end.found is None else end.before.with_layer(end.found)
        )

    def is_valid(self, r: Request) -> bool:
        """Return True if the directories and .htaccess files of the walk are unchanged."""
        for name in self.state.checked_directories:
            if not is_directory(r.deps.lstat(name)):
                return False
        return not self.state.probes or probes_unchanged(r.deps, self.state.probes)

    def admits_file(self, r: Request, path: str, certain: bool) -> bool:
        """Return True if no section or link check concerns the regular file *path* itself; *certain*: it is
        known not to be a link.
        """
        if self.state.strict:
            return certain or is_file(r.deps.lstat(path))
        if path + "/" in self.beside:
            return False
        return not self.wild or not any(directory_matches(section, path + "/") for section in self.wild)


def store(r: Request, end: WalkState) -> None:
    """Store a walk for other requests."""
    walks = end.before.walks
    walk = walks.get(end.directory)
    if walk is None or walk.state != end:
        walks[end.directory] = CachedWalk(r, end)


def try_cached_walk(r: Request, path: str) -> bool:
    """Apply a cached walk to *r*; return False if none is valid, perhaps with finfo set."""
    walks = r.plan.walks
    if not walks:
        return False
    directory = path[: path.rindex("/") + 1]
    walk: CachedWalk | None = walks.get(directory)
    if walk is None:
        return r.finfo is None and _from_parent(r, walks, path, len(directory) - 1)
    info = r.finfo
    certain = False
    if info is None:
        info = r.deps.lstat(path)
        if info is None:
            if r.deps.errno != errno.ENOENT or path == directory or not is_directory(r.deps.stat(directory)):
                return False
            return (walk.is_unconditional or walk.is_valid(r)) and _apply(r, walk, path, None)
        certain = info.st_mode & KIND != S_IFLNK
        if not certain:
            info = r.deps.stat(path)
    kind = info.st_mode & KIND if info is not None else 0
    if kind == S_IFDIR and path != directory:
        walk = walks.get(path + "/")
    good = kind == S_IFDIR or (kind == S_IFREG and path != directory)
    if good and kind == S_IFREG and walk is not None:
        good = path + "/" not in walk.beside if walk.needs_no_check else walk.admits_file(r, path, certain)
    if good and walk is not None and (walk.is_unconditional or walk.is_valid(r)):
        _apply(r, walk, path, info)
        if kind == S_IFDIR and path != directory:
            r.directory_walk = r.directory_walk._replace(directory=path)
        return True
    if path[-1] != "/" or kind == S_IFDIR:
        r.finfo = info
    return False


def _apply(r: Request, walk: CachedWalk, path: str, info: os.stat_result | None, beyond: str = "") -> bool:
    r.filename = path
    r.finfo = info
    r.path_info = beyond + (r.path_info or "") or None
    r.directory_walk = walk.result
    r.plan = walk.result.after
    if walk.regexes:
        layer = regex_directories(r, walk.state.found)
        r.plan = walk.state.before if layer is None else walk.state.before.with_layer(layer)
        r.directory_walk = WalkResult(walk.state.directory, walk.state.before, r.plan)
    return True


def _from_parent(r: Request, walks: dict[str, CachedWalk], path: str, end: int) -> bool:
    """Go on from the nearest directory above *end* of *path* that is known, where its next name is missing or
    is a file: the rest is path info.
    """
    walk: CachedWalk | None = None
    while end > 0 and walk is None:
        at = path.rindex("/", 0, end)
        walk = walks.get(path[: at + 1])
        end = at if walk is None else end
    if walk is None:
        return False
    name = path[:end]
    info = r.deps.lstat(name)
    if info is None:
        missing = r.deps.errno == errno.ENOENT and is_directory(r.deps.stat(walk.state.directory))
    else:
        missing = info.st_mode & KIND == S_IFREG
    if missing and (walk.is_unconditional or walk.is_valid(r)):
        return _apply(r, walk, name, info, path[end:])
    r.deps.discard(name)
    return False
