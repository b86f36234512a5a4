"""Directory walks that need not be made again: what a request found on its way to a folder, and what must be so for the next to find the same.

A walk asks the file system about every folder on the way only where links are not trusted, and about .htaccess files only where they are read: what
it comes to is otherwise settled by the folder that it ends in.
"""

from __future__ import annotations

import errno
import os
from stat import S_IFDIR, S_IFLNK, S_IFREG
from typing import TYPE_CHECKING, Final, NamedTuple

from whimbrel.config.model import Layer, Section
from whimbrel.request.files import KIND, is_file, is_folder
from whimbrel.request.htaccess import Look, look_again
from whimbrel.request.matching import folder_matches, regex_directories
from whimbrel.request.record import Request

if TYPE_CHECKING:
    from whimbrel.request.plan import Plan

MOST_WAYS: Final = 2048  # folders, under one plan, to which the way is remembered


class Walked(NamedTuple):
    """What a directory walk found: the folder it ended in, the plan it began with and the one it came to."""

    folder: str
    before: Plan
    after: Plan


class End(NamedTuple):
    """A walk that stands in its last folder: the plan it began with, what it has found, and the sections whose turn comes with the next name.

    *looks* are the .htaccess files that were there or not, *folders* had to be folders themselves and no links to such; *strict*: so has the file.
    """

    folder: str
    before: Plan
    found: Layer | None
    beside: tuple[Section, ...]
    looks: tuple[Look, ...]
    folders: tuple[str, ...]
    strict: bool


class Way:
    """The way to a folder; *end* is where it ended.

    Where links are trusted, httpd takes the file itself for one more folder: *beside* are the patterns of the sections that might be about it, *wild*
    those with wildcards; *simple*: that is all there is to ask about it.  *settled*: `holds` always says yes.  *regexes*: there are sections with
    regular expressions, which are about the whole path.
    """

    __slots__ = ("beside", "end", "regexes", "settled", "simple", "walked", "wild")

    def __init__(self, r: Request, end: End) -> None:
        self.end = end
        beside = () if end.strict else end.beside
        self.beside = frozenset(section.pattern for section in beside if not section.fnmatch)
        self.wild = tuple(section for section in beside if section.fnmatch)
        self.simple, self.settled = not (end.strict or self.wild), not (end.folders or end.looks)
        self.regexes = bool(r.engine.regex_directories(r.server))
        self.walked = Walked(end.folder, end.before, end.before if end.found is None else end.before.plus(end.found))

    def holds(self, r: Request) -> bool:
        """Whether the folders and .htaccess files on the way are as they were."""
        for name in self.end.folders:
            if not is_folder(r.files.lstat(name)):
                return False
        return not self.end.looks or look_again(r.files, self.end.looks)

    def takes(self, r: Request, path: str, certain: bool) -> bool:
        """Whether the regular file *path* is no matter of its own; *certain*: it is known to be no link."""
        if self.end.strict:
            return certain or is_file(r.files.lstat(path))
        if path + "/" in self.beside:
            return False
        return not self.wild or not any(folder_matches(section, path + "/") for section in self.wild)


def remember(r: Request, end: End) -> None:
    """Let other requests go the same way."""
    ways = end.before.walks
    way = ways.get(end.folder)
    if way is None or way.end != end:
        if len(ways) >= MOST_WAYS:
            ways.clear()
        ways[end.folder] = Way(r, end)


def go_again(r: Request, path: str) -> bool:
    """Go the way of an earlier request, whose settings then hold for this one too: sets plan, file name, path info and info.

    False where the walk has to be made; what is at *path* may then be known.
    """
    ways = r.plan.walks
    if not ways:
        return False
    folder = path[:path.rindex("/") + 1]
    way: Way | None = ways.get(folder)
    if way is None:
        return r.info is None and _from_above(r, ways, path, len(folder) - 1)
    info, certain = r.info, False
    if info is None:
        info = r.files.lstat(path)
        if info is None:
            if r.files.errno != errno.ENOENT or path == folder or not is_folder(r.files.stat(folder)):
                return False
            return (way.settled or way.holds(r)) and _arrived(r, way, path, None)
        certain = info.st_mode & KIND != S_IFLNK
        if not certain:
            info = r.files.stat(path)
    kind = info.st_mode & KIND if info is not None else 0
    if kind == S_IFDIR and path != folder:
        way = ways.get(path + "/")
    good = kind == S_IFDIR or (kind == S_IFREG and path != folder)
    if good and kind == S_IFREG and way is not None:
        good = path + "/" not in way.beside if way.simple else way.takes(r, path, certain)
    if good and way is not None and (way.settled or way.holds(r)):
        return _arrived(r, way, path, info)
    if path[-1] != "/" or kind == S_IFDIR:
        r.info = info
    return False


def _arrived(r: Request, way: Way, path: str, info: os.stat_result | None, beyond: str = "") -> bool:
    r.filename, r.info = path, info
    r.path_info = beyond + (r.path_info or "") or None
    r.walked = way.walked
    r.plan = way.walked.after
    if way.regexes:
        layer = regex_directories(r, way.end.found)
        r.plan = way.end.before if layer is None else way.end.before.plus(layer)
        r.walked = Walked(way.end.folder, way.end.before, r.plan)
    return True


def _from_above(r: Request, ways: dict[str, Way], path: str, end: int) -> bool:
    """Go on from the nearest folder above *end* of *path* that is known, where its next name is missing or is a file: the rest is path info."""
    way: Way | None = None
    while end > 0 and way is None:
        at = path.rindex("/", 0, end)
        way = ways.get(path[:at + 1])
        end = at if way is None else end
    if way is None:
        return False
    name = path[:end]
    info = r.files.lstat(name)
    if info is None:
        missing = r.files.errno == errno.ENOENT and is_folder(r.files.stat(way.end.folder))
    else:
        missing = info.st_mode & KIND == S_IFREG
    if missing and (way.settled or way.holds(r)):
        return _arrived(r, way, name, info, path[end:])
    r.files.unask(name)
    return False
