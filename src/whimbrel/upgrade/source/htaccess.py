"""The .htaccess files that 2.2 reads: below and above each directory that URLs are mapped to,
where AllowOverride admits them.

Without AllowOverride 2.2 admits every directive. The AllowOverride in force is determined as for a request:
the <Directory> sections of the server and of its virtual hosts, by the number of their path components, those
with expressions last.
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from typing import Final

from whimbrel.base.fnmatch import compile_fnmatch
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.real_paths import real_path
from whimbrel.base.regex import Regex, RegexError, compile_regex
from whimbrel.config.copied_paths import IN_PLACE
from whimbrel.upgrade.knowledge.scope import UnknownItem, UnknownKind
from whimbrel.upgrade.source.conditions import is_open
from whimbrel.upgrade.source.config_tree import ConfigTree, Role, Statement
from whimbrel.upgrade.source.overrides import admits, merge_overrides
from whimbrel.upgrade.source.queries import server_of
from whimbrel.upgrade.source.served_roots import WILD, ServedRoot, executed_by_22, served_roots
from whimbrel.upgrade.source.serving_hosts import serving_hosts

MAX_DIRECTORIES: Final = 200_000
"""The maximum number of directories that are searched below one root."""
_OF_TOOLS: Final = frozenset((b".git", b".svn", b".hg"))
MAX_REMEMBERED: Final = 200_000
"""The maximum number of directories whose entries are kept for the next reading."""
MAX_LINKED: Final = 10_000
"""Those of them that links outside of all roots lead to: a link to / would lead through the whole machine."""

_MAX_FURTHER: Final = 10_000
"""The maximum number of directories with a .htaccess file that links lead to once more."""


class SearchedDirectories:
    """What earlier searches found on disk: a directory is looked at once, and edits of a text change none.

    *identities* has device and inode of each directory, *below* its directories with the real path of those
    that are links; *files* tells for a path whether it is a file, *roots* whether a root is "" (nothing is
    there), "file" or "directory". *disk* has the places of all these paths.
    """

    def __init__(self) -> None:
        self.disk = IN_PLACE
        self.identities: dict[str, tuple[int, int]] = {}
        self.below: dict[str, list[tuple[str, str]]] = {}
        self.files: dict[str, bool] = {}
        self.roots: dict[str, str] = {}

    def identity(self, directory: str) -> tuple[int, int]:
        """Return device and inode of a directory; raises OSError."""
        known = self.identities.get(directory)
        if known is None:
            status = os.stat(to_bytes(self.disk.on_disk(directory)))
            known = status.st_dev, status.st_ino
            if len(self.identities) < MAX_REMEMBERED:
                self.identities[directory] = known
        return known

    def directories_in(self, directory: str) -> list[tuple[str, str]]:
        """Return the directories in a directory, the last one first; raises OSError."""
        known = self.below.get(directory)
        if known is None:
            top = directory.rstrip("/")
            entries = list(os.scandir(to_bytes(self.disk.on_disk(directory))))
            known = []
            for entry in sorted(entries, key=lambda entry: entry.name, reverse=True):
                path = f"{top}/{to_text(entry.name)}"
                is_link = entry.is_symlink()
                is_below = self.disk.is_directory(path) if is_link else entry.is_dir()
                if is_below and entry.name not in _OF_TOOLS:
                    known.append((path, _real(self.disk.on_disk(path)) if is_link else ""))
            if len(self.below) < MAX_REMEMBERED:
                self.below[directory] = known
        return known

    def is_file(self, path: str) -> bool:
        """Return True if *path* is a regular file."""
        known = self.files.get(path)
        if known is None:
            known = self.disk.is_file(path)
            if len(self.files) < MAX_REMEMBERED:
                self.files[path] = known
        return known

    def kind_of_root(self, path: str) -> str:
        """Return "directory", "file" for anything else that has the name, or "" for nothing."""
        known = self.roots.get(path)
        if known is None:
            known = "directory" if self.disk.is_directory(path) else "file"
            if known == "file" and not self.disk.exists(path):
                known = ""
            if len(self.roots) < MAX_REMEMBERED:
                self.roots[path] = known
        return known


@dataclass(frozen=True, slots=True)
class OverrideArea:
    """One <Directory> with an AllowOverride.

    Attributes:
        components: the path components, which may contain wildcards; None for an expression.
        regex: the expression.
        is_htaccess_read: .htaccess files are read.
        classes: the directive classes that they may contain.
        host: the virtual host that holds the section.
    """

    components: tuple[str, ...] | None
    regex: Regex | None
    is_htaccess_read: bool
    host: Statement | None
    classes: frozenset[str] | None = None

    def covers(self, directory: tuple[str, ...]) -> bool:
        """Return True if the section applies to *directory*."""
        if self.regex is not None:
            return self.regex.search("/" + "/".join(directory)) is not None
        components = self.components or ()
        return len(components) <= len(directory) and all(map(_component_matches, components, directory))

    def may_cover_below(self, directory: tuple[str, ...]) -> bool:
        """Return True if the section may apply to *directory* or to a directory below it."""
        return self.regex is not None or all(map(_component_matches, self.components or (), directory))


def _component_matches(pattern: str, name: str) -> bool:
    return compile_fnmatch(pattern).search(name) is not None if WILD & set(pattern) else pattern == name


class OverrideTable:
    """The AllowOverride lines of a configuration tree: sections without wildcards by path, the others in a
    list."""

    def __init__(self, tree: ConfigTree) -> None:
        self._hosts = serving_hosts(tree)
        self._by_path: dict[tuple[str, ...], list[OverrideArea]] = {}
        self._patterns: list[OverrideArea] = []
        self._effective: dict[str, list[OverrideArea | None]] = {}
        # every prefix of a path without wildcards whose .htaccess files are read
        self._read_prefixes: set[tuple[str, ...]] = set()
        lines = (
            line
            for line in executed_by_22(tree, "allowoverride")
            if not (_is_none(line) and is_open(line, server_of(line)))
        )
        for area in filter(None, map(_area, lines)):
            if area.components is None or any(WILD & set(part) for part in area.components):
                self._patterns.append(area)
                continue
            self._by_path.setdefault(area.components, []).append(area)
            if area.is_htaccess_read:
                self._read_prefixes.update(
                    area.components[:count] for count in range(len(area.components) + 1)
                )

    def is_htaccess_read(self, directory: str) -> bool:
        """Return True if a server reads .htaccess files in *directory*."""
        return any(area is None or area.is_htaccess_read for area in self._effective_areas(directory))

    def accepts(self, directory: str, kind: str) -> bool:
        """Return True if every server that reads .htaccess files in *directory* admits lines of the class
        *kind* (``fileinfo``) there."""
        return all(
            area is None or not area.is_htaccess_read or admits(area.classes, kind)
            for area in self._effective_areas(directory)
        )

    def _effective_areas(self, directory: str) -> list[OverrideArea | None]:
        """Return for each server that may serve *directory* the section whose AllowOverride is in force
        there, None if there is none."""
        known = self._effective.get(directory)
        if known is None:
            known = self._find_effective_areas(directory)
            self._effective[directory] = known
        return known

    def _find_effective_areas(self, directory: str) -> list[OverrideArea | None]:
        parts = _parts(directory)
        fitting = [area for count in range(len(parts) + 1) for area in self._by_path.get(parts[:count], ())]
        fitting += [area for area in self._patterns if area.covers(parts)]
        fitting.sort(key=lambda area: (area.regex is not None, len(area.components or ())))
        hosts = {None, *(area.host for area in fitting)}
        return [
            self._effective_area(fitting, host)
            for host in hosts
            if self._hosts.is_served_by(host, directory, hosts)
        ]

    def _effective_area(self, areas: list[OverrideArea], host: Statement | None) -> OverrideArea | None:
        applicable = [area for area in areas if area.host in (None, host)]
        return applicable[-1] if applicable else None

    def may_be_read_below(self, directory: str) -> bool:
        """Return True if .htaccess files may be read in a directory below *directory*."""
        parts = _parts(directory)
        return (
            parts in self._read_prefixes
            or self.is_htaccess_read(directory)
            or any(area.is_htaccess_read and area.may_cover_below(parts) for area in self._patterns)
        )


def _is_none(line: Statement) -> bool:
    return [word.lower() for word in line.words()] == ["none"]


def _area(line: Statement) -> OverrideArea | None:
    section = next(line.enclosing("<directory", "<directorymatch"), None)
    if section is None:
        return None
    words = section.words()
    host = next(line.enclosing("<virtualhost"), None)
    reads = not _is_none(line)
    classes = merge_overrides(None, [line])
    if section.name == "<directorymatch" or words[:1] == ["~"]:
        try:
            return OverrideArea(None, compile_regex(words[-1] if words else ""), reads, host, classes)
        except RegexError:
            return None
    return OverrideArea(_parts(words[0]), None, reads, host, classes) if words else None


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part)


def accepts_directive(tree: ConfigTree, line: Statement, kind: str) -> bool:
    """Return True if AllowOverride admits a line of the class *kind* beside *line*."""
    if line.file.role is not Role.HTACCESS:
        return True
    table = tree.cache.get("overrides")
    if not isinstance(table, OverrideTable):
        table = OverrideTable(tree)
        tree.cache["overrides"] = table
    return table.accepts(line.file.directory, kind)


def htaccess_files(
    tree: ConfigTree,
    progress: Callable[[str], None],
    to_local: Callable[[str], str] = str,
    default_root: str = "",
    searched: SearchedDirectories | None = None,
    linked: dict[str, list[str]] | None = None,
) -> Iterator[tuple[str, str]]:
    """Yield the path and directory of every file that a server reads; a root that is not here becomes an
    unread part of *tree*.

    *linked* gets for such a path the further directories in which the server reads the file, because links
    lead there.

    *to_local* maps a path of the configuration to this machine, "" if it is not there; *default_root* is the
    root of a server without DocumentRoot. *searched* is what earlier readings found.
    """
    searched = searched or SearchedDirectories()
    overrides = OverrideTable(tree)
    names = _names(tree)
    seen: dict[tuple[int, int], str] = {}
    links = _Links(tree, overrides, names, searched, {} if linked is None else linked)
    above: dict[str, str] = {}
    for path, root in served_roots(tree, default_root, to_local).items():
        local_root = to_local(path).rstrip("/")
        if not overrides.may_be_read_below(path):
            local_root = ""
        elif not local_root or not searched.kind_of_root(local_root):
            if root.is_named and "${" not in path:
                what = "is not here" if local_root else f"is outside of {tree.root}, the copy that is read"
                tree.unread.append(_missing_root(local_root if tree.disk.image else path, root, what))
                if overrides.accepts(path, "limit"):
                    tree.missing_roots.append(path)
            local_root = ""
        for outer in _directories_above(path):
            if outer in above:
                break  # those above it are known, too
            above[outer] = to_local(outer)
        if local_root and searched.kind_of_root(local_root) == "directory":
            repeated: list[tuple[str, str]] = []
            for path_found in _walk(local_root, seen, tree, root, progress, searched, repeated):
                directory = path.rstrip("/") + path_found[len(local_root) :]
                if root.pattern is None or _is_below_match(root.pattern, directory):
                    yield from links.files_in(path_found, directory)
            for link, target in repeated:
                links.add(link, target, path.rstrip("/") + link[len(local_root) :], root)
    for directory, local in above.items():
        if local:
            yield from _files_in(local.rstrip("/"), directory, names, overrides, searched)
    yield from links.further_files()


class _Links:
    """The directories that links lead to, and the .htaccess files in and below them.

    *linked* gets the further directories of each file that is read.
    """

    def __init__(
        self,
        tree: ConfigTree,
        overrides: OverrideTable,
        names: list[str],
        searched: SearchedDirectories,
        linked: dict[str, list[str]],
    ) -> None:
        self._tree = tree
        self._overrides = overrides
        self._names = names
        self._searched = searched
        self._linked = linked
        self._links: list[tuple[str, str, str, ServedRoot]] = []
        self._present: dict[str, tuple[str, ...]] = {}
        self._read: dict[str, str] = {}

    def files_in(self, local: str, directory: str) -> Iterator[tuple[str, str]]:
        """Yield the .htaccess files of one directory that a server reads."""
        present = tuple(name for name in self._names if self._searched.is_file(f"{local}/{name}"))
        if present:
            self._present[local] = present
            if self._overrides.is_htaccess_read(directory):
                for name in present:
                    self._read[f"{local}/{name}"] = f"{local}/{name}"
                    yield f"{local}/{name}", directory

    def add(self, link: str, target: str, directory: str, root: ServedRoot) -> None:
        """Add a *link* below *root* to the directory *target*; *directory* is its path in the text."""
        self._links.append((link, target, directory, root))

    def further_files(self) -> Iterator[tuple[str, str]]:
        """Yield the files that are read behind links alone; keep the further directories of all files."""
        ordered = sorted(self._present)
        count = 0
        for link, target, directory, root in self._links:
            for local in _at_and_below(ordered, target):
                rest = local[len(target) :]
                other = directory + rest
                if (root.pattern is not None and not _is_below_match(root.pattern, other)) or (
                    not self._overrides.is_htaccess_read(other)
                ):
                    continue
                count += 1
                if count > _MAX_FURTHER:
                    text = f"links lead to more than {_MAX_FURTHER} directories with .htaccess files"
                    self._tree.unread.append(UnknownItem(UnknownKind.LEFT_OUT, root.line.place, text))
                    return
                for name in self._present[local]:
                    first = self._read.get(f"{local}/{name}")
                    if first is not None:
                        self._linked.setdefault(first, []).append(other)
                    else:
                        self._read[f"{local}/{name}"] = f"{link}{rest}/{name}"
                        yield f"{link}{rest}/{name}", other


def _at_and_below(ordered: list[str], top: str) -> list[str]:
    """Return those of the sorted paths that are *top* or below it."""
    own = ordered[bisect_left(ordered, top) : bisect_right(ordered, top)]
    return [*own, *ordered[bisect_left(ordered, f"{top}/") : bisect_left(ordered, f"{top}0")]]


def _missing_root(path: str, root: ServedRoot, what: str) -> UnknownItem:
    return UnknownItem(
        UnknownKind.MISSING,
        root.line.place,
        f"{path} {what}: .htaccess files may be in it",
        "no rule has checked them; mod_access_compat is loaded for them",
        "run again where the directory is, or pass its .htaccess files",
    )


def _directories_above(path: str) -> Iterator[str]:
    """Yield the directories around *path*, in which httpd looks for .htaccess files too."""
    while path.strip("/"):
        path = path.rstrip("/").rpartition("/")[0]
        yield path or "/"


def _is_below_match(pattern: Regex, directory: str) -> bool:
    """Return True if *pattern* matches *directory* or one around it."""
    around = (directory, *_directories_above(directory))
    return any(pattern.search(one) is not None for one in around)


def _files_in(
    local: str,
    directory: str,
    names: list[str],
    overrides: OverrideTable,
    searched: SearchedDirectories,
) -> Iterator[tuple[str, str]]:
    """Yield the .htaccess files of one directory."""
    for name in names:
        file = f"{local}/{name}"
        if searched.is_file(file) and overrides.is_htaccess_read(directory):
            yield file, directory


def _names(tree: ConfigTree) -> list[str]:
    """Return the values of AccessFileName of all servers."""
    given = [
        name
        for line in executed_by_22(tree, "accessfilename")
        for name in line.words()
        if name and "/" not in name
    ]
    return list(dict.fromkeys(given)) or [".htaccess"]


def _walk(
    top: str,
    seen: dict[tuple[int, int], str],
    tree: ConfigTree,
    root: ServedRoot,
    progress: Callable[[str], None],
    searched: SearchedDirectories,
    repeated: list[tuple[str, str]],
) -> Iterator[str]:
    """Yield *top* and the directories below it once each, following symbolic links to directories.

    *repeated* gets the other paths of those that were seen before, with the first one.
    """
    pending = [(top, False)]
    count = 0
    linked = 0
    real_top = ""
    while pending:
        directory, is_linked = pending.pop()
        try:
            identity = searched.identity(directory)
            if identity in seen:
                if seen[identity] != directory:
                    repeated.append((directory, seen[identity]))
                continue
            seen[identity] = directory
            below = searched.directories_in(directory)
        except OSError as problem:
            text = f"{directory} cannot be searched: {os.strerror(problem.errno or 0)}"
            tree.unread.append(UnknownItem(UnknownKind.LEFT_OUT, root.line.place, text))
            continue
        count += 1
        linked += is_linked
        if count > MAX_DIRECTORIES or linked > MAX_LINKED:
            text = f"more than {MAX_DIRECTORIES} directories below {top}: not all were searched"
            if linked > MAX_LINKED:
                text = f"more than {MAX_LINKED} directories behind links in {top}: not all were searched"
            tree.unread.append(UnknownItem(UnknownKind.LEFT_OUT, root.line.place, text))
            return
        progress(directory)
        yield directory
        for path, real in below:
            if real and not real_top:
                real_top = _real(searched.disk.on_disk(top))
            leaves = bool(real) and not real.startswith(real_top)
            pending.append((path, is_linked or leaves))


def _real(path: str) -> str:
    """Return the real path of a directory with its slash."""
    return real_path(path).rstrip("/") + "/"
