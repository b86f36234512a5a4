"""The entries of a listing: which are shown, what is known about each, their order."""

from __future__ import annotations

import os
import re
from functools import cmp_to_key
from typing import Any

from whimbrel.http.url import getparents
from whimbrel.modules.mod_autoindex.settings import AutoindexSettings, Item, Opt
from whimbrel.numbers import is_digits, lower, strip, upper
from whimbrel.octets import raw
from whimbrel.records import dataclass
from whimbrel.request.files import is_file, is_folder
from whimbrel.wildcards import wildcards

TITLE_BYTES = 8191


@dataclass(slots=True)
class Entry:
    """One line; *size* and *modified* (seconds) are -1 where they are not known or not shown, *folder* counts under FoldersFirst only."""

    name: str
    parent: bool = False
    icon: str | None = None
    alt: str | None = None
    description: str | None = None
    size: int = -1
    modified: int = -1
    folder: bool = False


def simple_match(text: str, pattern: str) -> bool:
    """Whether *text* matches a pattern of ``*`` and ``?`` (ap_strcmp_match)."""
    if "*" not in pattern and "?" not in pattern:
        return text == pattern
    parts = (".*" if c == "*" else "." if c == "?" else re.escape(c) for c in pattern)
    return re.fullmatch("".join(parts), text, re.S) is not None


def is_ignored(conf: AutoindexSettings, path: str) -> bool:
    """Whether IndexIgnore hides the entry *path*."""
    name = path.rpartition("/")[2]
    fold = bool(conf.options & Opt.IGNORE_CASE)
    for pattern, below in conf.ignored:
        last = pattern.rpartition("/")[2]
        if simple_match(path, below) and simple_match(lower(name) if fold else name, lower(last) if fold else last):
            return True
    return False


def find_item(items: list[Item], path: str, kind: str | None, encoding: str | None, path_only: bool) -> str | None:
    """The first icon or text for a file: by its path, else by its encoding, or where it has none by its type."""
    for item in items:
        if item.by == "path":
            if item.pattern.startswith("^^"):
                if path == item.pattern:
                    return item.data
            elif not path.startswith("^") and simple_match(path, item.path) and simple_match(path, item.pattern):
                return item.data
        elif not path_only:
            if encoding is None:
                if item.by == "type" and kind is not None and simple_match(lower(kind), lower(item.pattern)):
                    return item.data
            elif item.by == "encoding" and simple_match(lower(encoding), lower(item.pattern)):
                return item.data
    return None


def special(items: list[Item], path: str) -> str | None:
    """What is given for a path alone, such as ``^^DIRECTORY^^``."""
    return find_item(items, path, None, None, True)


def find_description(conf: AutoindexSettings, path: str) -> str | None:
    """The first AddDescription for the file *path*."""
    name = path.rpartition("/")[2]
    for one in conf.descriptions:
        subject = path if one.whole else name
        if one.wild:
            if wildcards(one.pattern).search(subject) is not None:
                return one.text
        elif one.pattern in subject:
            return one.text
    return None


def html_title(path: str) -> str | None:
    """The text of the first <title> in the first 8 KB, line ends as spaces."""
    try:
        with open(raw(path), "rb") as file:
            text = file.read(TITLE_BYTES).decode("latin-1")
    except OSError:
        return None
    found = re.search("<title>([^<\0]*)", text.partition("\0")[0], re.I)
    return None if found is None else re.sub("[\r\n]", " ", found[1].lstrip("\r\n"))


def _media(sub: Any) -> str | None:
    return None if sub.content_type is None else strip(sub.content_type.partition(";")[0])


def _shown(sub: Any, conf: AutoindexSettings) -> bool:
    if not (is_folder(sub.info) or is_file(sub.info)):
        return False
    return 200 <= sub.status < 400 or (bool(conf.options & Opt.SHOW_FORBIDDEN) and sub.status in (401, 403))


async def make_entry(r: Any, name: str, conf: AutoindexSettings, options: Opt, title_types: tuple[str, ...]) -> Entry | None:
    """The entry for a name of the folder, None where it isn't shown."""
    if name in (".", "..") or is_ignored(conf, r.filename + name):
        return None
    sub = await r.engine.lookup_entry(r, name)
    if not _shown(sub, conf):
        return None
    folder = is_folder(r.files.stat(r.filename + name))  # the sub-request may have come to the folder's index
    entry = Entry(name + "/" if folder else name)
    if not options & (Opt.FANCY | Opt.TABLE):
        return entry
    entry.modified = int(sub.info.st_mtime)
    path, kind, encoding = r.filename + name, _media(sub), ", ".join(sub.content_encodings) or None
    entry.icon = find_item(conf.icons, path, kind, encoding, folder)
    entry.alt = find_item(conf.alts, path, kind, encoding, folder)
    if folder:
        r.files.exact(path)
        entry.folder = bool(options & Opt.FOLDERS_FIRST)
        entry.icon = entry.icon or special(conf.icons, "^^DIRECTORY^^")
        entry.alt = entry.alt or special(conf.alts, "^^DIRECTORY^^") or "DIR"
    else:
        entry.size = sub.info.st_size
    entry.description = find_description(conf, path)
    if entry.description is None and options & Opt.SCAN_TITLES and not folder and encoding is None and kind in title_types:
        r.files.stat(path)
        entry.description = html_title(path)
    return entry


def parent_entry(r: Any, conf: AutoindexSettings, options: Opt, alt: str) -> Entry | None:
    """The entry for the folder above; the root has none."""
    above = getparents(f"{r.uri}../" if r.uri.endswith("/") else f"{r.uri}/../")
    path = r.filename + ".."
    if not above or is_ignored(conf, path):
        return None
    entry = Entry(above, parent=True)
    if options & (Opt.FANCY | Opt.TABLE):
        entry.icon = special(conf.icons, path) or special(conf.icons, "^^DIRECTORY^^")
        entry.alt = special(conf.alts, path) or special(conf.alts, "^^DIRECTORY^^") or alt
        entry.description = find_description(conf, path)
    return entry


def names_of(folder: str) -> list[str] | None:
    """The names in a folder, None where it can't be read."""
    try:
        return [name.decode("latin-1") for name in os.listdir(raw(folder))]
    except OSError:
        return None


# Order ----------------------------------------------------------------------------------------------------------------------------------------------
def in_order(entries: list[Entry], key: str, descending: bool, options: Opt) -> list[Entry]:
    """The parent first, then (FoldersFirst) folders, then by *key* and by name."""
    fold = bool(options & Opt.IGNORE_CASE)
    by_version = bool(options & Opt.VERSION_SORT)

    def compare(a: Entry, b: Entry) -> int:
        if a.folder != b.folder:
            return -1 if a.folder else 1
        if descending:
            a, b = b, a
        x, y = _key(a, key), _key(b, key)
        if x != y:
            return -1 if x < y else 1
        result = natural(a.name, b.name, fold) if by_version else 0
        if not result and fold:
            result = _sign(lower(a.name), lower(b.name))
        return result or _sign(a.name, b.name)

    return [e for e in entries if e.parent] + sorted((e for e in entries if not e.parent), key=cmp_to_key(compare))


def _key(entry: Entry, key: str) -> Any:
    return {"M": entry.modified, "S": entry.size, "D": entry.description or ""}.get(key, 0)


def _sign(a: str, b: str) -> int:
    return (a > b) - (a < b)


def natural(a: str, b: str, fold: bool) -> int:
    """Compare with runs of digits as numbers (apr_strnatcmp): runs with a leading zero digit by digit, other bytes as signed chars."""
    i = j = 0
    while True:
        i, j = _past_blanks(a, i), _past_blanks(b, j)
        x, y = a[i:i + 1], b[j:j + 1]
        if is_digits(x) and is_digits(y):
            result = _by_digits(a, i, b, j) if "0" in (x, y) else _by_value(a, i, b, j)
            if result:
                return result
        if not x and not y:
            return 0
        p, q = _signed(upper(x) if fold else x), _signed(upper(y) if fold else y)
        if p != q:
            return -1 if p < q else 1
        i, j = i + 1, j + 1


def _past_blanks(text: str, at: int) -> int:
    while text[at:at + 1] and text[at] in " \t\n\v\f\r":
        at += 1
    return at


def _signed(char: str) -> int:
    code = ord(char) if char else 0
    return code - 256 if code > 127 else code


def _run(text: str, at: int) -> str:
    found = re.match("[0-9]*", text[at:])
    return found[0] if found else ""


def _by_digits(a: str, i: int, b: str, j: int) -> int:
    return _sign(_run(a, i), _run(b, j))


def _by_value(a: str, i: int, b: str, j: int) -> int:
    x, y = _run(a, i), _run(b, j)
    return (len(x) > len(y)) - (len(x) < len(y)) or _sign(x, y)
