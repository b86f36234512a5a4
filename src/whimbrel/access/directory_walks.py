"""Walks of directories: the sections, and the .htaccess files with their AllowOverride, down to a directory.

A walk reads <Directory> sections without an expression, and .htaccess files, as httpd's directory walk does.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Generic

from whimbrel.access.sections import (
    Override,
    RequestSection,
    S,
    SectionInventory,
    V,
    ancestors,
    is_htaccess_ignored,
)
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.config.model import LOCATION_KINDS, SectionKind

_FILES: Final = frozenset({SectionKind.FILES, SectionKind.FILES_MATCH})


def is_plain(section: RequestSection) -> bool:
    """Return True for a <Directory> without an expression: it is merged before those with one."""
    return section.kind is SectionKind.DIRECTORY and section.regex is None


class SectionGroups(Generic[S]):
    """The sections of one server, or those that all servers share, by the step that merges them."""

    def __init__(self, sections: Sequence[S]) -> None:
        self.plain = [u for u in sections if is_plain(u)]
        self.regex_sections = [
            u
            for u in sections
            if u.kind in (SectionKind.DIRECTORY, SectionKind.DIRECTORY_MATCH) and u.regex is not None
        ]
        files = [u for u in sections if u.kind is SectionKind.HTACCESS]
        self.htaccess = {directory: u for u in files for directory in u.linked}
        self.htaccess |= {u.directory: u for u in files}
        self.files = [u for u in sections if u.kind in _FILES]
        self.nested_files: dict[RequestSection, list[S]] = {}
        for u in self.files:
            if u.outer is not None:
                self.nested_files.setdefault(u.outer, []).append(u)
        self.outermost_files = [u for u in self.files if u.outer is None]
        self.all_locations = [u for u in sections if u.kind in LOCATION_KINDS and not u.is_proxy]
        self.proxies = [u for u in sections if u.is_proxy]
        self.relevant: set[RequestSection] = {u for u in sections if u.has_lines}
        self.relevant |= {u.outer for u in sections if u.has_lines and u.outer is not None}
        self._sorted = sorted((directory, number) for number, directory in enumerate(self.htaccess))
        self._directories = list(self.htaccess)
        self.by_depth = _by_depth(self.plain)
        self.walks: dict[str, _Walk[S]] = {}

    def htaccess_below(self, prefixes: Iterable[str]) -> list[str]:
        """Return the directories with .htaccess files that begin with one of *prefixes*, in reading order."""
        numbers: set[int] = set()
        for prefix in prefixes:
            at = bisect_left(self._sorted, (prefix, -1))
            while at < len(self._sorted) and self._sorted[at][0].startswith(prefix):
                numbers.add(self._sorted[at][1])
                at += 1
        return [self._directories[number] for number in sorted(numbers)]


@dataclass(frozen=True, slots=True)
class _Walk(Generic[S]):
    """What applies to one directory: its sections in merge order, with the AllowOverride of each .htaccess
    file, and that of the directories below."""

    sections: list[S]
    overrides: list[tuple[S, Override]]
    override: Override


class DirectoryWalks(Generic[S]):
    """What applies to the directories of one server, which has the <Directory> sections *own* beside those
    that all servers share."""

    def __init__(self, shared: SectionGroups[S], own: Iterable[S]) -> None:
        self._shared = shared
        self._own = _by_depth(own)
        self._first_depth = min(self._own, default=sys.maxsize)
        self._known: dict[str, _Walk[S]] = {}

    def of(self, directory: str) -> tuple[list[S], list[tuple[S, Override]]]:
        """Return the <Directory> sections and .htaccess files for *directory* and its ancestors, in merge
        order; and the files with their AllowOverride."""
        walk = self._known.get(directory[: directory.rfind("/") + 1])
        if walk is None:
            walk = _Walk([], [], None)
            for depth, path in enumerate(ancestors(directory), 1):
                # above its own sections a server walks as all others do
                known = self._known if depth >= self._first_depth else self._shared.walks
                walk = known.get(path) or self._step(walk, path, depth)
                known[path] = walk
        return walk.sections, walk.overrides

    def _step(self, above: _Walk[S], path: str, depth: int) -> _Walk[S]:
        """Return the walk that continues *above* by one directory."""
        candidates = (*self._shared.by_depth.get(depth, ()), *self._own.get(depth, ()))
        added = [section for section in candidates if section.matches(path)]
        file = self._shared.htaccess.get(path)
        if not added and file is None:
            return above
        sections = [*above.sections, *added]
        overrides = above.overrides
        override = above.override
        for section in added:
            override = section.merge_override(override)
        # behind a link to a directory above itself, what a file sets is set already
        if file is not None and file not in above.sections and not is_htaccess_ignored(override):
            sections.append(file)
            overrides = [*overrides, (file, override)]
        return _Walk(sections, overrides, override)


def _by_depth(sections: Iterable[S]) -> dict[int, list[S]]:
    """Return <Directory> sections by the number of directories down to theirs, the root included."""
    found: dict[int, list[S]] = {}
    for section in sections:
        found.setdefault(max(1, section.components), []).append(section)
    return found


def admitted_overrides(inventory: SectionInventory[S, V]) -> dict[S, Override]:
    """Return the AllowOverride classes of each .htaccess file that a server reads; of several, the fewest."""
    admitted: dict[S, Override] = {}
    for section, override in overrides_of_servers(inventory):
        known = admitted.setdefault(section, override)
        if known is None or (override is not None and len(override) < len(known)):
            admitted[section] = override
    return admitted


def overrides_of_servers(inventory: SectionInventory[S, V]) -> Iterator[tuple[S, Override]]:
    """Yield each .htaccess file with the AllowOverride classes of each server that may serve its directory.

    The main server stands for each host without AllowOverride lines of its own for that directory: it reads
    the file alike.
    """
    for _server, section, override in overrides_by_server(inventory):
        yield section, override


def overrides_by_server(inventory: SectionInventory[S, V]) -> Iterator[tuple[V | None, S, Override]]:
    """Yield the server, the .htaccess file and the AllowOverride classes of `overrides_of_servers`."""
    shared = SectionGroups(inventory.of_server(None)[0])
    own_sections = {
        virtual_host: [section for section in inventory.of_server(virtual_host)[1] if section.has_overrides]
        for virtual_host in dict.fromkeys(inventory.servers)
    }
    everywhere: set[V | None] = set()
    at: dict[str, set[V | None]] = {}
    for virtual_host, own in own_sections.items():
        if any(u.regex is not None or u.fnmatch for u in own):
            everywhere.add(virtual_host)
        for section in own:
            at.setdefault(section.pattern, set()).add(virtual_host)
    for server in (None, *own_sections):
        own = [] if server is None else own_sections[server]
        if server is not None and not own:
            continue
        walks = DirectoryWalks(shared, [u for u in own if is_plain(u)])
        is_everywhere = server is None or server in everywhere
        for directory in shared.htaccess_below([""] if is_everywhere else [u.pattern for u in own]):
            others = everywhere.union(*(at.get(above, ()) for above in ancestors(directory)))
            for section, override in walks.of(directory)[1]:
                if inventory.is_served_by(server, section.directory, others):
                    yield server, section, override
