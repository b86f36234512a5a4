"""Entries of a directory listing: selection, attributes, order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from heapq import merge
from operator import itemgetter
from typing import Any

from whimbrel.base.file_reading import read_start
from whimbrel.base.fnmatch import compile_fnmatch, simple_match
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import lower, strip, upper
from whimbrel.engine.deps.files import is_directory, is_file
from whimbrel.engine.request import Request
from whimbrel.engine.time_slices import Slices
from whimbrel.http.syntax.url import getparents
from whimbrel.modules.generators.mod_autoindex.settings import AutoindexDirConfig, IndexOption, Item

TITLE_BYTES = 8191
_DIGITS_OR_CHAR = re.compile(r"([0-9]+)|([^ \t\n\v\f\r])")
_KEY = itemgetter(0)
RUN = 32  # entries that are sorted in one step


@dataclass(slots=True)
class Entry:
    """One line of a listing.

    *size* and *modified* (microseconds) are -1 if unknown or hidden; *is_directory* is set with FoldersFirst.
    """

    name: str
    parent: bool = False
    icon: str | None = None
    alt: str | None = None
    description: str | None = None
    size: int = -1
    modified: int = -1
    is_directory: bool = False


def is_ignored(conf: AutoindexDirConfig, path: str) -> bool:
    """Return True if IndexIgnore hides the entry *path*."""
    name = path.rpartition("/")[2]
    fold = bool(conf.options & IndexOption.IGNORE_CASE)
    for pattern, below in conf.ignored:
        last = pattern.rpartition("/")[2]
        if simple_match(path, below) and simple_match(
            lower(name) if fold else name, lower(last) if fold else last
        ):
            return True
    return False


def find_item(
    items: list[Item], path: str, kind: str | None, encoding: str | None, path_only: bool
) -> str | None:
    """Return the first icon or text for a file: by path, else by encoding, without one by type."""
    is_special = path.startswith("^")
    for item in items:
        if not (is_special or simple_match(path, item.path)):  # the section of the line names no such file
            continue
        if not item.pattern:
            return item.data
        if item.by == "path" or is_special:
            if simple_match(path, item.pattern):
                return item.data
        elif not path_only:
            if encoding is None:
                if item.by == "type" and kind is not None and simple_match(lower(kind), lower(item.pattern)):
                    return item.data
            elif item.by == "encoding" and simple_match(lower(encoding), lower(item.pattern)):
                return item.data
    return None


def special(items: list[Item], path: str) -> str | None:
    """Return the item for a path alone, such as ``^^DIRECTORY^^``."""
    return find_item(items, path, None, None, True)


def find_description(conf: AutoindexDirConfig, path: str) -> str | None:
    """Return the first AddDescription for the file *path*."""
    name = path.rpartition("/")[2]
    for description in conf.descriptions:
        subject = path if description.is_path else name
        if description.wild:
            if compile_fnmatch(description.pattern).search(subject) is not None:
                return description.text
        elif description.pattern in subject:
            return description.text
    return None


def html_title(path: str) -> str | None:
    """Return the text of the first <title> in the first 8 KB, with line ends as spaces."""
    try:
        text = read_start(to_bytes(path), TITLE_BYTES).decode("latin-1")
    except OSError:
        return None
    match = re.search("<title>([^<\0]*)", text.partition("\0")[0], re.I)
    return None if match is None else re.sub("[\r\n]", " ", match[1].lstrip("\r\n"))


def _shown(sub: Request, conf: AutoindexDirConfig) -> bool:
    if not (is_directory(sub.finfo) or is_file(sub.finfo)):
        return False
    return 200 <= sub.status < 400 or (
        bool(conf.options & IndexOption.SHOW_FORBIDDEN) and sub.status in (401, 403)
    )


async def make_entry(
    r: Request, name: str, conf: AutoindexDirConfig, options: IndexOption, title_types: tuple[str, ...]
) -> Entry | None:
    """Return the entry for a name in the directory, None if it is hidden."""
    path = (r.filename or "") + name
    if name in (".", "..") or is_ignored(conf, path):
        return None
    sub = await r.engine.lookup_entry(r, name)
    if sub.finfo is None or not _shown(sub, conf):
        return None
    # the sub-request may have reached the directory's index file
    is_dir = is_directory(r.deps.stat(path))
    entry = Entry(name + "/" if is_dir else name)
    if not options & (IndexOption.FANCY | IndexOption.TABLE):
        return entry
    entry.modified = sub.finfo.st_mtime_ns // 1000
    kind = None if sub.content_type is None else strip(sub.content_type.partition(";")[0])
    encoding = ", ".join(sub.content_encodings) or None
    entry.icon = find_item(conf.icons, path, kind, encoding, is_dir)
    entry.alt = find_item(conf.alts, path, kind, encoding, is_dir)
    if is_dir:
        r.deps.stat_directory(path)
        entry.is_directory = bool(options & IndexOption.DIRECTORIES_FIRST)
        entry.icon = entry.icon or special(conf.icons, "^^DIRECTORY^^")
        entry.alt = entry.alt or special(conf.alts, "^^DIRECTORY^^") or "DIR"
    else:
        entry.size = sub.finfo.st_size
    entry.description = find_description(conf, path)
    if (
        entry.description is None
        and options & IndexOption.SCAN_TITLES
        and not is_dir
        and encoding is None
        and kind in title_types
    ):
        r.deps.stat(path)
        entry.description = html_title(path)
    return entry


def parent_entry(r: Request, conf: AutoindexDirConfig, options: IndexOption, alt: str) -> Entry | None:
    """Return the entry for the parent directory; the root has none."""
    above = getparents(f"{r.uri}../" if r.uri.endswith("/") else f"{r.uri}/../")
    path = (r.filename or "") + ".."
    if not above or is_ignored(conf, path):
        return None
    entry = Entry(above, parent=True)
    if options & IndexOption.FANCY:  # HTMLTable alone is not sufficient, unlike for the other entries
        entry.icon = special(conf.icons, path) or special(conf.icons, "^^DIRECTORY^^")
        entry.alt = special(conf.alts, path) or special(conf.alts, "^^DIRECTORY^^") or alt
        entry.description = find_description(conf, path)
    return entry


# Order ------------------------------------------------------------------------------------------
async def in_order(
    entries: list[Entry], key: str, descending: bool, options: IndexOption, slices: Slices
) -> list[Entry]:
    """Sort the entries: parent, then (FoldersFirst) directories, then by *key* and by name."""
    order = _order(key, options)
    groups = (
        [e for e in entries if e.is_directory and not e.parent],
        [e for e in entries if not (e.is_directory or e.parent)],
    )
    out = [e for e in entries if e.parent]
    for group in groups:
        runs = []
        for at in range(0, len(group), RUN):
            runs.append(sorted([(order(e), e) for e in group[at : at + RUN]], key=_KEY, reverse=descending))
            await slices.pause()
        for _value, entry in merge(*map(_consume, runs), key=_KEY, reverse=descending):
            out.append(entry)
            await slices.pause()
    return out


def _consume(run: list[tuple[Any, Entry]]) -> Iterator[tuple[Any, Entry]]:
    """Yield the elements of *run* and remove each: thousands of keys are not released in one step."""
    run.reverse()
    while run:
        yield run.pop()


def _order(key: str, options: IndexOption) -> Callable[[Entry], Any]:
    """Return the function that computes an entry's sort key."""
    fold = bool(options & IndexOption.IGNORE_CASE)
    by_version = bool(options & IndexOption.VERSION_SORT)

    def order(entry: Entry) -> tuple[Any, ...]:
        value = {"M": entry.modified, "S": entry.size, "D": entry.description or ""}.get(key, 0)
        name = entry.name
        return (value, natural(name, fold) if by_version else (), lower(name) if fold else "", name)

    return order


def natural(name: str, fold: bool) -> tuple[tuple[int, int, str], ...]:
    """Return the sort key of *name* for VersionSort (apr_strnatcmp).

    Blanks do not count, other bytes are signed, runs of digits are numbers. A run with a leading zero sorts
    before all others, digit by digit.
    """
    key = []
    for digits, char in _DIGITS_OR_CHAR.findall(name):
        if digits:
            key.append((48, 0 if digits[0] == "0" else len(digits), digits))
        else:
            code = ord(upper(char) if fold else char)
            key.append((code - 256 if code > 127 else code, 0, ""))
    return (*key, (0, 0, ""))
