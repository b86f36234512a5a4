"""The directory walk: <Directory> sections and .htaccess files (ap_directory_walk).

The walk goes from plan to plan by `Plan.with_layer`, so each combination of layers is merged once. Manual:
sections.html.
"""

from __future__ import annotations

import os
from itertools import takewhile

from whimbrel.config.core_config import OPT_SYM_LINKS, OPT_SYM_OWNER
from whimbrel.config.htaccess import HtaccessError
from whimbrel.config.model import Layer
from whimbrel.engine.deps.files import is_directory, is_file, is_link
from whimbrel.engine.request import Request
from whimbrel.engine.walk.cache import WalkResult, WalkState, store, try_cached_walk
from whimbrel.engine.walk.htaccess import Probe
from whimbrel.engine.walk.matching import (
    directory_matches,
    regex_directories,
)
from whimbrel.engine.walk.symlinks import check_symlink, link_target
from whimbrel.registry.phases import OK, HookStatus


def directory_walk(r: Request) -> HookStatus:
    """Lay <Directory> sections and .htaccess files over the settings; sets info and path_info."""
    if r.filename is None:
        return OK
    path = _normalized(r.filename) if "//" in r.filename or "/." in r.filename else r.filename
    if path is None:
        return 403
    if path[:1] != "/":
        r.filename = path
        return OK
    looked = r.finfo is not None
    if not looked and (r.prev is not None or r.main is not None):
        r.finfo, looked = r.deps.stat(path), True
    if r.finfo is not None and path[-1] == "/" and not is_directory(r.finfo):
        r.finfo = None
    if r.finfo is not None and (r.prev is not None or r.main is not None):
        known = _parent_walk(r, _directory_of(path, r.finfo))
        if known is not None:
            r.filename = path
            return _reuse_parent_walk(r, known)
    if try_cached_walk(r, path):
        return OK
    if r.finfo is None and not looked:
        r.finfo = r.deps.stat(path)
        if r.finfo is not None and path[-1] == "/" and not is_directory(r.finfo):
            r.finfo = None
    return _walk(r, path)


def _walk(r: Request, path: str) -> HookStatus:
    """Return a walk from the root down to *path*, of which `info` is known where it is there."""
    directory = _directory_of(path, r.finfo)
    before = r.plan
    walk = DirectoryWalk(r, path, directory)
    status = walk.run()
    r.filename, r.path_info = walk.path, walk.rest + (r.path_info or "") or None
    r.finfo = walk.info
    if status != OK:
        r.plan = before  # httpd merges the sections into the settings after the last one
        return status
    if walk.state is not None:
        store(r, walk.state)
    layer = regex_directories(r, walk.found)
    r.plan = before if layer is None else before.with_layer(layer)
    r.directory_walk = WalkResult(path if is_directory(r.finfo) else directory, before, r.plan)
    return OK


def _directory_of(path: str, info: os.stat_result | None) -> str:
    """Return the directory in which a walk to *path* ends: a file's parent, else the path itself."""
    if is_file(info):
        return path[: path.rindex("/") + 1]
    return path if path.endswith("/") else path + "/"


def _parent_walk(r: Request, directory: str) -> WalkResult | None:
    """Return the walk of the request that this one came from, if it ended in the same directory."""
    earlier = r.prev or r.main
    walked: WalkResult | None = earlier.directory_walk if earlier is not None else None
    return (
        walked if walked is not None and walked.directory == directory and walked.before is r.plan else None
    )


def _reuse_parent_walk(r: Request, known: WalkResult) -> HookStatus:
    """Apply the walk of the request that *r* comes from; only the file itself may be a forbidden link."""
    r.plan = known.after
    r.directory_walk = known
    value = r.plan.core.options.value
    if not value & OPT_SYM_LINKS and r.finfo is not None:
        link = r.deps.lstat(r.filename or "")
        if link is not None and is_link(link):
            target = link_target(r, r.filename or "", link, code="AH00032")
            if target is None:
                return 403
            r.finfo = target
    return OK


def _normalized(path: str) -> str | None:
    """Return the path without doubled slashes and dot segments; None when it leaves the root."""
    out: list[str] = []
    parts = path.split("/")
    for part in parts[1:]:
        if part == "..":
            if not out:
                return None
            out.pop()
        elif part not in ("", "."):
            out.append(part)
    tail = "/" if out and parts[-1] in ("", ".", "..") else ""
    return "/" + "/".join(out) + tail


class DirectoryWalk:
    """One walk down the file system, directory by directory.

    The request's plan is updated on the way, because options and overrides decide how to go on.

    Attributes:
        path, rest: the path so far, and what remains of it.
        found: the merged layers.
        state: the state in the last directory; None if the walk cannot be cached.
        target_directory: the directory in which the walk ends, if the file is known to exist.
    """

    __slots__ = (
        "before",
        "state",
        "directory",
        "checked_directories",
        "found",
        "target_directory",
        "index",
        "info",
        "known",
        "probes",
        "path",
        "plain",
        "r",
        "rest",
        "is_cacheable",
    )

    def __init__(self, r: Request, path: str, target: str) -> None:
        self.r = r
        self.path = "/"
        self.rest = path[1:]
        self.info = r.finfo
        self.target_directory = target
        self.known = r.finfo is not None
        self.before = r.plan
        self.directory = "/"
        self.plain = r.engine.plain_directories(r.server)
        self.index = 0
        self.found: Layer | None = None
        self.probes: list[Probe] = []
        self.checked_directories: list[str] = []
        self.is_cacheable = True
        self.state: WalkState | None = None

    def run(self) -> HookStatus:
        """Walk down to the last directory that exists."""
        depth = 1
        while True:
            directory = self.directory
            self._sections(directory, depth)
            status = self._htaccess(directory)
            trusted = self._follows_links()
            if status == OK and self.is_cacheable and (not self.known or directory == self.target_directory):
                self.state = self._state(depth, trusted)
            if status != OK:
                self.path = directory
                return status
            if not self.rest:
                return status
            name, slash, beyond = self.rest.partition("/")
            if not name:
                self.path = directory
                self.rest = ""
                return OK
            self.path = directory + name
            self.rest = slash + beyond
            if not self.known or not trusted:
                status, info = self._check(trusted)
                if status != OK:
                    return status
                if not self.known:
                    self.info = info
                if not is_directory(info):
                    return OK
            self.directory = self.path + "/"
            if slash and not beyond:
                self.path = self.directory
            self.rest = beyond
            depth += 1

    def _state(self, depth: int, trusted: bool) -> WalkState:
        """Return the state of the walk so far."""
        beside = tuple(takewhile(lambda section: section.components <= depth + 1, self.plain[self.index :]))
        return WalkState(
            self.directory,
            self.before,
            self.found,
            beside,
            tuple(self.probes),
            tuple(self.checked_directories),
            not trusted,
        )

    def _check(self, trusted: bool) -> tuple[HookStatus, os.stat_result | None]:
        """Check the present path; a walk that does not trust links is cached only if none was met."""
        info = self.r.deps.lstat(self.path)
        if not trusted and is_directory(info):
            self.checked_directories.append(self.path)
        elif not trusted and is_link(info):
            self.is_cacheable = False
        return check_symlink(self.r, self.path, info)

    def _follows_links(self) -> bool:
        """Return True if links are allowed whatever their owner: the file's stat is sufficient."""
        value = self.r.plan.core.options.value
        return value & (OPT_SYM_LINKS | OPT_SYM_OWNER) == OPT_SYM_LINKS

    def _sections(self, directory: str, depth: int) -> None:
        plan = self.r.plan
        plain = self.plain
        index = self.index
        while index < len(plain) and plain[index].components <= depth:
            if directory_matches(plain[index], directory):
                plan = plan.with_layer(plain[index].layer)
                self.found = self.r.engine.plans.merge_layers(self.found, plain[index].layer)
            index += 1
        self.r.plan = plan
        self.index = index

    def _htaccess(self, directory: str) -> HookStatus:
        r = self.r
        rules = r.engine.htaccess.policy(r.plan)
        if not rules.names:
            return OK
        self.is_cacheable = self.is_cacheable and rules.is_per_directory
        try:
            layer = r.engine.htaccess.layer(r, directory, rules, self.probes)
        except HtaccessError as problem:
            r.log(problem.level, problem.log, code=problem.code, cause=problem.cause)
            if problem.note:
                r.notes["error-notes"] = problem.note
            return problem.status
        if layer is not None:
            r.plan = r.plan.with_layer(layer)
            self.found = r.engine.plans.merge_layers(self.found, layer)
        return OK
