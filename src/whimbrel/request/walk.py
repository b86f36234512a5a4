"""Which sections hold for a request: httpd's directory, file and location walks.

Each walk goes from plan to plan by `Plan.plus`, so that a combination of layers is merged only once.  Manual: sections.html.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from itertools import takewhile

from whimbrel.config.core import OPT_SYM_LINKS, OPT_SYM_OWNER, CoreFolder
from whimbrel.config.htaccess import HtaccessError
from whimbrel.config.model import Layer, Section, SectionKind
from whimbrel.expr.compile import Condition
from whimbrel.expr.errors import EvalError
from whimbrel.http.url import merge_slashes
from whimbrel.registry.phases import OK, Answer
from whimbrel.registry.settings import UNSET
from whimbrel.request.expressions import holds
from whimbrel.request.files import is_file, is_folder, is_link
from whimbrel.request.htaccess import Look
from whimbrel.request.matching import folder_matches, location_matches, matched, regex_directories
from whimbrel.request.record import Request
from whimbrel.request.ways import End, Walked, go_again, remember
from whimbrel.wildcards import wildcards


# Locations ------------------------------------------------------------------------------------------------------------------------------------------
def walk_location_and_if(r: Request) -> None:
    """Lay the <Location> sections that match the URL, then the <If> sections that are true, over the request's settings."""
    locations, uri = r.plan.locations, r.uri
    if locations.sections and uri and r.elsewhere != uri:
        sections = locations.about(merge_slashes(uri) if "//" in uri else uri)
        if sections:
            _walk_locations(r, sections)
        else:
            r.elsewhere = uri
    if r.plan.core.ifs:
        if_walk(r)


def _walk_locations(r: Request, sections: Sequence[Section]) -> None:
    uri = merge_slashes(r.uri) if "//" in r.uri else r.uri
    found = None
    for section in sections:
        if location_matches(r, section, uri):
            found = r.engine.world.joined(found, section.layer)
    if found is not None:
        r.plan = r.plan.plus(found)


def if_walk(r: Request) -> None:
    """Lay the <If>, <ElseIf> and <Else> sections whose turn it is over the request's settings."""
    sections = r.plan.core.ifs
    found: Layer | None = None
    while sections:
        found, sections = _chains(r, sections, found)
    if found is not None:
        r.plan = r.plan.plus(found)


def _chains(r: Request, sections: list[Section], found: Layer | None) -> tuple[Layer | None, list[Section]]:
    """*found* with the first true section of each chain that begins with <If>; and what stands in these, whose turn comes after them all."""
    taken, inside = False, []
    for section in sections:
        if section.kind is not SectionKind.IF and taken:
            continue
        taken = section.test is None or _true(r, section.test)
        if taken:
            found = r.engine.world.joined(found, section.layer)
            inner = section.layer.records.get(CoreFolder)
            if inner is not None and inner.ifs is not UNSET:
                inside += inner.ifs
    return found, inside


def _true(r: Request, test: Condition) -> bool:
    """Whether *test* holds; one that can't be evaluated does not."""
    try:
        return holds(r, test)
    except EvalError as problem:
        r.log("error", f"Failed to evaluate <If > condition: {problem.reason}", code="AH00039")
        return False


# Directories ----------------------------------------------------------------------------------------------------------------------------------------
def directory_walk(r: Request) -> Answer:
    """Lay <Directory> sections and .htaccess files over the settings, from the root down to the file; sets info and path_info."""
    if r.filename is None:
        return OK
    path = _clean(r.filename) if "//" in r.filename or "/." in r.filename else r.filename
    if path is None:
        return 403
    if path[:1] != "/":
        r.filename = path
        return OK
    looked = r.info is not None
    if not looked and (r.prev is not None or r.main is not None):
        r.info, looked = r.files.stat(path), True
    if r.info is not None and path[-1] == "/" and not is_folder(r.info):
        r.info = None
    if r.info is not None and (r.prev is not None or r.main is not None):
        known = _walked_before(r, _folder_of(path, r.info))
        if known is not None:
            r.filename = path
            return _familiar(r, known)
    if go_again(r, path):
        return OK
    if r.info is None and not looked:
        r.info = r.files.stat(path)
        if r.info is not None and path[-1] == "/" and not is_folder(r.info):
            r.info = None
    return _walk(r, path)


def _walk(r: Request, path: str) -> Answer:
    """A walk from the root down to *path*, of which `info` is known where it is there."""
    folder, before = _folder_of(path, r.info), r.plan
    walk = _Descent(r, path, folder)
    answer = walk.run()
    r.filename, r.path_info = walk.path, walk.rest + (r.path_info or "") or None
    r.info = walk.info
    if answer != OK:
        r.plan = before  # httpd lays the sections over the settings once it has them all
        return answer
    if walk.end is not None:
        remember(r, walk.end)
    found = regex_directories(r, walk.found)
    r.plan = before if found is None else before.plus(found)
    r.walked = Walked(folder, before, r.plan)
    return OK


def _folder_of(path: str, info: os.stat_result | None) -> str:
    """The folder that a walk to *path* ends in: a file's own, else the path itself."""
    if is_file(info):
        return path[: path.rindex("/") + 1]
    return path if path.endswith("/") else path + "/"


def _walked_before(r: Request, folder: str) -> Walked | None:
    """The walk of the request that this one came from, if it ended in the same folder."""
    earlier = r.prev or r.main
    walked: Walked | None = earlier.walked if earlier is not None else None
    return walked if walked is not None and walked.folder == folder and walked.before is r.plan else None


def _familiar(r: Request, known: Walked) -> Answer:
    """The sections of an earlier walk hold here too; only the file itself may be a link that isn't allowed."""
    r.plan, r.walked = known.after, known
    value = r.plan.core.options.value
    if not value & OPT_SYM_LINKS and r.info is not None:
        own = r.files.lstat(r.filename or "")
        if is_link(own):
            answer, info = _judged(r, r.filename or "", own)
            if answer != OK:
                return answer
            r.info = info
    return OK


def _clean(path: str) -> str | None:
    """The path without doubled slashes and dot segments; None when it leaves the root."""
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


class _Descent:
    """One way down the file system, folder by folder; *path* grows, *rest* is what lies beyond it.

    The request's plan follows, since options and overrides decide how to go on; *found* is what will be laid over the settings as one.  *end* is its
    last folder, None for a way that can't be gone again; *goal* is the folder where it ends, if the file is known to be there.
    """

    __slots__ = ("before", "end", "folder", "folders", "found", "goal", "index", "info", "known", "looks", "path", "plain", "r", "rest", "steady")

    def __init__(self, r: Request, path: str, goal: str) -> None:
        self.r, self.path, self.rest, self.info, self.goal = r, "/", path[1:], r.info, goal
        self.known, self.before, self.folder = r.info is not None, r.plan, "/"
        self.plain = r.engine.plain_directories(r.server)
        self.index = 0
        self.found: Layer | None = None
        self.looks: list[Look] = []
        self.folders: list[str] = []
        self.steady = True
        self.end: End | None = None

    def run(self) -> Answer:
        """Go down as far as there are folders."""
        depth = 1
        while True:
            folder = self.folder
            self._sections(folder, depth)
            answer = self._htaccess(folder)
            trusted = self._trusted()
            if answer == OK and self.steady and (not self.known or folder == self.goal):
                self.end = self._here(depth, trusted)
            if answer != OK or not self.rest:
                return answer
            name, slash, beyond = self.rest.partition("/")
            if not name:
                self.path, self.rest = folder, ""
                return OK
            self.path, self.rest = folder + name, slash + beyond
            if not self.known or not trusted:
                answer, found = self._judged(trusted)
                if answer != OK:
                    return answer
                if not self.known:
                    self.info = found
                if not is_folder(found):
                    return OK
            self.folder = self.path + "/"
            if slash and not beyond:
                self.path = self.folder
            self.rest = beyond
            depth += 1

    def _here(self, depth: int, trusted: bool) -> End:
        """The way as far as it has come."""
        beside = tuple(takewhile(lambda section: section.components <= depth + 1, self.plain[self.index:]))
        return End(self.folder, self.before, self.found, beside, tuple(self.looks), tuple(self.folders), not trusted)

    def _judged(self, trusted: bool) -> tuple[Answer, os.stat_result | None]:
        """What is at the place that was come to; where links are not trusted it has to be no link the next time too."""
        info = self.r.files.lstat(self.path)
        if not trusted and is_folder(info):
            self.folders.append(self.path)
        elif not trusted and is_link(info):
            self.steady = False
        return _judged(self.r, self.path, info)

    def _trusted(self) -> bool:
        """Whether the file's own stat says enough: symbolic links are allowed, whoever owns them."""
        value = self.r.plan.core.options.value
        return value & (OPT_SYM_LINKS | OPT_SYM_OWNER) == OPT_SYM_LINKS

    def _sections(self, folder: str, depth: int) -> None:
        plan, plain, index = self.r.plan, self.plain, self.index
        while index < len(plain) and plain[index].components <= depth:
            if folder_matches(plain[index], folder):
                plan = plan.plus(plain[index].layer)
                self.found = self.r.engine.world.joined(self.found, plain[index].layer)
            index += 1
        self.r.plan, self.index = plan, index

    def _htaccess(self, folder: str) -> Answer:
        r = self.r
        rules = r.engine.htaccess.rules(r.plan)
        if not rules.names:
            return OK
        self.steady = self.steady and rules.steady
        try:
            layer = r.engine.htaccess.layer(r, folder, rules, self.looks)
        except HtaccessError as problem:
            r.log(problem.level, problem.log, code=problem.code, cause=problem.cause)
            if problem.note:
                r.notes["error-notes"] = problem.note
            return problem.status
        if layer is not None:
            r.plan = r.plan.plus(layer)
            self.found = r.engine.world.joined(self.found, layer)
        return OK


def _judged(r: Request, path: str, info: os.stat_result | None) -> tuple[Answer, os.stat_result | None]:
    """What is at *path*, of which *info* is lstat's, symbolic links judged by the options in force: an answer and the target's stat."""
    if info is None:
        why = r.files.errno
        return (OK, None) if why == errno.ENOENT else (_refused(r, path, why), None)
    if is_link(info):
        info = _target(r, path, info)
        if info is None:
            r.log("error", f"Symbolic link not allowed or link target not accessible: {path}", code="AH00037")
            return 403, None
    if not is_folder(info) and not is_file(info):
        r.log("error", f"Forbidden: {path} doesn't point to a file or directory", code="AH00038")
        return 403, None
    return OK, info


def _refused(r: Request, path: str, why: int) -> Answer:
    reason = f"({why}){os.strerror(why)}: "
    if why == errno.EACCES:
        tail = "because search permissions are missing on a component of the path"
        r.log("error", f"{reason}access to {r.uri} denied (filesystem path '{path}') {tail}", code="AH00035")
    else:
        r.log("error", f"{reason}access to {r.uri} failed (filesystem path '{path}')", code="AH00036")
    return 403


def _target(r: Request, path: str, link: os.stat_result) -> os.stat_result | None:
    """The target of a symbolic link that the options allow, else None."""
    value = r.plan.core.options.value
    if not value & (OPT_SYM_LINKS | OPT_SYM_OWNER):
        return None
    target = r.files.stat(path)
    if target is None or (value & OPT_SYM_OWNER and target.st_uid != link.st_uid):
        return None
    return target


# Files ----------------------------------------------------------------------------------------------------------------------------------------------
def file_walk(r: Request) -> None:
    """Lay the <Files> sections that match the file's own name over the settings."""
    sections = r.plan.core.files
    if not sections or r.filename is None:
        return
    name = r.filename.rpartition("/")[2]
    found = None
    for section in sections:
        if section.regex is not None:
            matches = matched(r, section.regex, name)
        elif section.fnmatch:
            matches = wildcards(section.pattern).search(name) is not None
        else:
            matches = section.pattern == name
        if matches:
            found = r.engine.world.joined(found, section.layer)
    if found is not None:
        r.plan = r.plan.plus(found)
