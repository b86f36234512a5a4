"""Which sections hold for a request: httpd's directory, file and location walks.

Each walk goes from plan to plan by `Plan.plus`, so that a combination of layers is merged only once.  Manual: sections.html.
"""

from __future__ import annotations

import errno
import os
from stat import S_IFREG
from typing import Final, NamedTuple

from whimbrel.config.core import OPT_SYM_LINKS, OPT_SYM_OWNER, CoreFolder
from whimbrel.config.htaccess import HtaccessError
from whimbrel.config.model import Layer, Section, SectionKind
from whimbrel.expr.compile import Condition
from whimbrel.expr.errors import EvalError
from whimbrel.http.url import merge_slashes
from whimbrel.regex import Regex
from whimbrel.registry.phases import OK, Answer
from whimbrel.registry.settings import UNSET
from whimbrel.request.expressions import holds
from whimbrel.request.files import KIND, is_file, is_folder, is_link
from whimbrel.request.htaccess import Look, look_again
from whimbrel.request.plan import Locations, Plan
from whimbrel.request.record import Request
from whimbrel.wildcards import wildcards

MOST_WAYS: Final = 2048  # folders, under one plan, of which the way is remembered


# Locations ------------------------------------------------------------------------------------------------------------------------------------------
def walk_location_and_if(r: Request) -> None:
    """Lay the <Location> sections that match the URL, then the <If> sections that are true, over the request's settings."""
    locations = r.plan.locations
    if locations.sections and r.uri and r.elsewhere != r.uri:
        _walk_locations(r, locations)
    if r.plan.core.ifs:
        if_walk(r)


def _walk_locations(r: Request, locations: Locations) -> None:
    uri = merge_slashes(r.uri) if "//" in r.uri else r.uri
    found = None
    sections = locations.about(uri)
    for section in sections:
        if _location_matches(r, section, uri):
            found = r.engine.world.joined(found, section.layer)
    if found is not None:
        r.plan = r.plan.plus(found)
    elif not sections:
        r.elsewhere = r.uri


def _location_matches(r: Request, section: Section, uri: str) -> bool:
    if section.regex is not None:
        return _matched(r, section.regex, r.uri)
    pattern = section.pattern
    if section.fnmatch:
        return wildcards(pattern, by_segment=True).search(uri) is not None
    if not uri.startswith(pattern):
        return False
    return pattern.endswith("/") or len(uri) == len(pattern) or uri[len(pattern)] == "/"


def _matched(r: Request, regex: Regex, subject: str) -> bool:
    """Whether *regex* matches; its named groups become MATCH_ variables of the request (2.4)."""
    found = regex.search(subject)
    if found is None:
        return False
    names = regex.names
    if names and r.plan.dialect.auth_merging:
        for name, number in names.items():
            value = found.group(number)
            if value is not None:
                r.env["MATCH_" + name.upper()] = value
    return True


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
class Walked(NamedTuple):
    """What a directory walk found: the folder it ended in, the plan it began with and the one it came to."""

    folder: str
    before: Plan
    after: Plan


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
    info = r.files.stat(path) if r.info is None else r.info
    if info is not None and path[-1] == "/" and not is_folder(info):
        info = None
    r.info = info
    if info is not None and (r.prev is not None or r.main is not None):
        known = _walked_before(r, _folder_of(path, info))
        if known is not None:
            r.filename = path
            return _familiar(r, known)
    if r.plan.walks and _walk_again(r, path):
        return OK
    folder, before = _folder_of(path, info), r.plan
    walk = _Descent(r, path, folder)
    answer = walk.run()
    r.filename, r.path_info = walk.path, walk.rest + (r.path_info or "") or None
    r.info = walk.info
    if answer != OK:
        r.plan = before  # httpd lays the sections over the settings once it has them all
        return answer
    if walk.end is not None:
        _remember(walk, walk.end)
    found = _regex_directories(r, walk.found)
    r.plan = before if found is None else before.plus(found)
    r.walked = Walked(folder, before, r.plan)
    return OK


class End(NamedTuple):
    """How far a walk had come when it stood in its last folder: what it had found, the number of the next section, how many files and folders had
    mattered; *strict* is that of `Way`."""

    folder: str
    found: Layer | None
    section: int
    looks: int
    folders: int
    strict: bool


# The same way again ---------------------------------------------------------------------------------------------------------------------------------
class Way:
    """A walk that ended in *folder*, and what must be so again for the next to come to the same.

    *looks* are the .htaccess files that were there or not, *folders* had to be folders themselves and no links to such; *strict*: so has the file
    itself.  Where it has not, httpd takes it for one more folder: *beside* are the patterns of the sections that might be about it, *wild* those with
    wildcards.  *found* will be laid over *before*, which makes *walked*, where no regular expression matches.
    """

    __slots__ = ("before", "beside", "folder", "folders", "found", "looks", "regexes", "strict", "walked", "wild")

    def __init__(self, walk: _Descent, end: End) -> None:
        r = walk.r
        self.folder, self.before, self.found, self.strict = end.folder, walk.before, end.found, end.strict
        self.looks, self.folders = tuple(walk.looks[:end.looks]), tuple(walk.folders[:end.folders])
        depth = end.folder.count("/") + 1
        beside = [] if end.strict else [section for section in walk.plain[end.section:] if section.components <= depth]
        self.beside = frozenset(section.pattern for section in beside if not section.fnmatch)
        self.wild = tuple(section for section in beside if section.fnmatch)
        self.regexes = bool(r.engine.regex_directories(r.server))
        self.walked = Walked(end.folder, walk.before, walk.before if end.found is None else walk.before.plus(end.found))

    def holds(self, r: Request, path: str) -> bool:
        """Whether the walk to *path*, of which `info` is known, comes to the same."""
        files = r.files
        for name in self.folders:
            if not is_folder(files.lstat(name)):
                return False
        if self.looks and not look_again(files, self.looks):
            return False
        if path == self.folder or path + "/" == self.folder or r.info is None:
            return True
        if self.strict:
            return is_file(files.lstat(path))
        if path + "/" in self.beside:
            return False
        return not self.wild or not any(_folder_matches(section, path + "/") for section in self.wild)


def _remember(walk: _Descent, end: End) -> None:
    """Let other requests go the same way."""
    ways, way = walk.before.walks, walk.before.walks.get(end.folder)
    looks = tuple(walk.looks[:end.looks])
    if way is None or way.found is not end.found or way.looks != looks or way.folders != tuple(walk.folders[:end.folders]):
        if len(ways) >= MOST_WAYS:
            ways.clear()
        ways[end.folder] = Way(walk, end)


def _walk_again(r: Request, path: str) -> bool:
    """Go the way of an earlier request, whose settings then hold for this one too; False where the walk has to be made."""
    ways, info, rest = r.plan.walks, r.info, ""
    way: Way | None
    if info is None:
        found = _missing(r, path) if r.files.errno == errno.ENOENT else None
        if found is None:
            return False
        way, path, rest = found
    elif info.st_mode & KIND == S_IFREG:
        way = ways.get(path[:path.rindex("/") + 1])
    else:
        way = ways.get(path if path.endswith("/") else path + "/") if is_folder(info) else None
    if way is None or not way.holds(r, path):
        return False
    r.filename = path
    r.path_info = rest + (r.path_info or "") or None
    r.walked = way.walked
    r.plan = way.walked.after
    if way.regexes:
        layer = _regex_directories(r, way.found)
        r.plan = way.before if layer is None else way.before.plus(layer)
        r.walked = Walked(way.folder, way.before, r.plan)
    return True


def _missing(r: Request, path: str) -> tuple[Way, str, str] | None:
    """Where the way to a file ends that is not there: in a folder known from earlier, with the first name that is missing, and what follows it."""
    ways, end = r.plan.walks, len(path)
    while True:
        at = path.rfind("/", 0, end)
        if at < 0:
            return None
        way = ways.get(path[:at + 1])
        if way is not None:
            break
        end = at
    name = path[:end]
    if r.files.lstat(name) is not None or r.files.errno != errno.ENOENT or not is_folder(r.files.stat(path[:at + 1])):
        return None
    return way, name, path[end:]


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


def _regex_directories(r: Request, found: Layer | None) -> Layer | None:
    """*found* with the sections whose expression matches the whole path."""
    path = r.filename or ""
    for section in r.engine.regex_directories(r.server):
        if section.regex is not None and _matched(r, section.regex, path):
            found = r.engine.world.joined(found, section.layer)
    return found


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
                self.end = End(folder, self.found, self.index, len(self.looks), len(self.folders), not trusted)
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
            if _folder_matches(plain[index], folder):
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


def _folder_matches(section: Section, folder: str) -> bool:
    if section.fnmatch:
        return wildcards(section.pattern, by_segment=True).search(folder) is not None
    return section.pattern == folder


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
            matches = _matched(r, section.regex, name)
        elif section.fnmatch:
            matches = wildcards(section.pattern).search(name) is not None
        else:
            matches = section.pattern == name
        if matches:
            found = r.engine.world.joined(found, section.layer)
    if found is not None:
        r.plan = r.plan.plus(found)
