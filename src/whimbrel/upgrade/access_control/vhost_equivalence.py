"""Equivalent virtual hosts: the same sections with the same lines in the same order, with other directories,
clients and users.

The result for one host holds for all of them, with the names exchanged. Hosts are equivalent if nothing that
a decision or a match depends on distinguishes them. That covers the shape of their sections, the main-server
sections that apply to their directories, the names of the files in these directories, the texts of the
.htaccess files there, and the relations of their addresses and host names to each other and to those of all
hosts. A host with a .htaccess file that another server reads too has no equivalent.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from whimbrel.access.atoms import HostIn, address_set
from whimbrel.access.chains import Bounds
from whimbrel.access.clients import addresses, hosts
from whimbrel.access.layers import AccessLine
from whimbrel.access.samples import regex_samples, wildcard_samples
from whimbrel.access.sections import absolute_path, ancestors, slashed
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.base.net import InvalidNetwork, Network, parse_network
from whimbrel.config.copied_paths import CopiedPaths
from whimbrel.config.model import SectionKind
from whimbrel.syntax.words import getword
from whimbrel.upgrade.access_control.fragment_context import is_loose
from whimbrel.upgrade.access_control.host_directories import HostDirectories
from whimbrel.upgrade.access_control.sections import AccessSection, Inventory
from whimbrel.upgrade.access_control.unchanged_sections import is_settled
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement
from whimbrel.upgrade.source.walk import walk

_PATHS: Final = frozenset(
    {"authuserfile", "authgroupfile", "authdbmuserfile", "authdbmgroupfile", "authdigestfile"}
)
_NAMING: Final = _PATHS | {"allow", "deny", "require", "authname"}
"""Directives with arguments that may be names of one host alone."""
_USERS: Final = frozenset({"user", "group"})
CLIENT_LISTS: Final = ("ip ", "host ", "not ip ", "not host ")
"""How the arguments of Require begin where addresses or host names follow."""
_QUOTES: Final = frozenset("\"'\\")
_MAX_WORDS: Final = 10
"""The maximum number of a host's own addresses; hosts with more are equivalent only if these are equal."""

Lines = tuple[AccessLine, ...]


@dataclass(slots=True, eq=False)
class OwnNames:
    """The names that occur in the lines of one host alone, in the order of first use.

    They are clients (addresses and host names), users and groups, and other texts.
    """

    clients: dict[str, int] = field(default_factory=dict)
    users: dict[str, int] = field(default_factory=dict)
    texts: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class EquivalentHost:
    """A host that is equivalent to *first*; it maps the sections and the path components of the first host to
    its own."""

    first: Statement
    sections: dict[AccessSection, AccessSection]
    clients: dict[str, str]
    users: dict[str, str]
    parts: dict[str, str]

    def lines(self, lines: Iterable[AccessLine]) -> Lines:
        """Return lines about access of the first host as lines of this one."""
        return tuple(self._line(line) for line in lines)

    def _line(self, line: AccessLine) -> AccessLine:
        if line.children:
            return AccessLine(line.name, line.args, line.place, self.lines(line.children))
        names = (
            self.clients
            if line.name in ("allow", "deny") or line.args.startswith(CLIENT_LISTS)
            else self.users
        )
        if not names or line.name not in ("allow", "deny", "require"):
            return line
        args = " ".join(names.get(word, word) for word in line.args.split(" "))
        return line if args == line.args else AccessLine(line.name, args, line.place)

    def path(self, path: str) -> str:
        """Return a path of the first host as a path of this one."""
        return "/".join(self.parts.get(part, part) for part in path.split("/"))

    @property
    def has_same_names(self) -> bool:
        """Return True if clients and users have the same names in both hosts."""
        return all(a == b for names in (self.clients, self.users) for a, b in names.items())

    @property
    def is_upgraded(self) -> bool:
        """Return True if a section of the host is upgraded."""
        return any(section.is_upgraded for section in self.sections.values())


@dataclass(slots=True, eq=False)
class _HostProfile:
    """The properties of a host that equivalence compares."""

    sections: list[AccessSection]
    parts: dict[str, int]
    names: OwnNames


class VhostEquivalence:
    """The equivalence classes of the virtual hosts of a configuration tree."""

    def __init__(self, tree: ConfigTree, inventory: Inventory, bounds: Bounds | None = None) -> None:
        self.tree = tree
        self.inventory = inventory
        self.on_disk = HostDirectories(tree.text_root, inventory, bounds or Bounds(disk=tree.disk))
        owned = self.on_disk.all_owned
        shared = [section for section in inventory.of_server(None)[0] if section not in owned]
        lines = [line for section in shared for lines in _lines_of(section) for line in walk(lines)]
        self.shared_words = {
            word for line in lines for word in (*line.args.split(" "), _text_of(line, tree.text_root))
        }
        self.literal: dict[str, list[AccessSection]] = {}
        self.patterned: list[AccessSection] = []
        for section in shared:
            if section.kind is SectionKind.DIRECTORY and section.regex is None and not section.fnmatch:
                self.literal.setdefault(section.pattern, []).append(section)
            elif section.kind in (SectionKind.DIRECTORY, SectionKind.DIRECTORY_MATCH):
                self.patterned.append(section)
        self.directories = sorted(self.literal)
        self.clients = sorted({word for line in lines for word in _clients_of(line)})
        self.inherited = [slashed(target) for _, target in inventory.aliases.get(None, [])]
        self.common = Counter(
            part
            for server in inventory.servers
            for part in {p for target in self._targets(server) for p in target.split("/")}
        )

    def equivalents(self) -> dict[Statement, EquivalentHost]:
        """Return the hosts that are equivalent to an earlier one."""
        first: dict[tuple[object, ...], tuple[Statement, _HostProfile]] = {}
        equivalents: dict[Statement, EquivalentHost] = {}
        if len(self.inventory.servers) < 2:
            return equivalents
        for number, server in enumerate(dict.fromkeys(self.inventory.servers)):
            self.tree.report_progress("which hosts are equivalent", number, len(self.inventory.servers))
            profile, signature = self._signature(server)
            if signature is None:
                continue
            first_seen = first.setdefault(signature, (server, profile))
            if first_seen[0] is not server:
                equivalents[server] = _equivalent_host(*first_seen, profile)
        return equivalents

    def _maps(self, server: Statement) -> list[tuple[str, str]]:
        root = self.inventory.roots.get(server)
        return [*self.inventory.aliases.get(server, []), *([("/", root)] if root is not None else [])]

    def _targets(self, server: Statement) -> list[str]:
        return [target for _, target in self._maps(server)]

    # what tells hosts apart -------------------------------------------------------------------------
    def _signature(self, server: Statement) -> tuple[_HostProfile, tuple[object, ...] | None]:
        maps = self._maps(server)
        of_server = self.inventory.of_server(server)[1]
        on_disk = self.on_disk.owned(server)
        if self.inventory.host_root_of(server) or self._is_unique([*of_server, *on_disk]):
            return _HostProfile([], {}, OwnNames()), None
        parts: dict[str, int] = {}
        for _, target in maps:
            for part in target.split("/"):
                if part and self.common[part] < len(self.inventory.servers):
                    parts.setdefault(part, len(parts))
        own_sections = [
            *of_server,
            *sorted(on_disk, key=lambda unit: self._order(unit, parts)),
        ]
        profile = _HostProfile(own_sections, parts, OwnNames())
        if any(self.on_disk.has_shared_files(slashed(target)) for _, target in maps):
            return profile, None
        below = self.on_disk.paths_below(target for _, target in maps)
        if below is None:
            return profile, None
        directories = list(
            dict.fromkeys(
                [
                    *(slashed(target) for _, target in maps),
                    *(u.pattern for u in own_sections if u.kind is SectionKind.DIRECTORY),
                ]
            )
        )
        if any(directory.startswith(target) for directory in directories for target in self.inherited):
            return profile, None
        index = {section: at for at, section in enumerate(own_sections)}
        shapes = tuple(self._shape(section, index, profile) for section in own_sections)
        mappings = tuple((prefix, self._path(target, parts)) for prefix, target in maps)
        return profile, (
            shapes,
            mappings,
            tuple(self._proxied(server)),
            tuple(below),
            tuple(self._enclosing_sections(directories)),
            tuple(self._patterns_of_files(maps, below)),
            self._relations(profile.names.clients),
        )

    def _proxied(self, server: Statement) -> Iterator[tuple[str, str]]:
        """Yield the URL paths of the host's back ends, with the URLs that <Proxy> sections may match."""
        by_url = any(section.is_proxy for section in self.inventory.sections)
        for path, url in self.inventory.proxied.get(server, ()):
            yield path, url if by_url else ""

    def _is_unique(self, sections: list[AccessSection]) -> bool:
        """Return True if a host cannot have an equivalent: for one of its sections, or because conditions or
        marks, for which a section keeps its text, stand in an upgraded host.
        """
        if any(map(_is_unique, sections)):
            return True
        return any(section.is_upgraded for section in sections) and not all(
            is_settled(self.tree, section) and not is_loose(self.tree, section) for section in sections
        )

    def _order(self, section: AccessSection, parts: dict[str, int]) -> tuple[str, ...]:
        """Return a key that sorts the .htaccess files of equivalent hosts alike."""
        return tuple(map(str, self._path(section.file.directory, parts)))

    def _patterns_of_files(
        self, maps: list[tuple[str, str]], below: list[tuple[str, ...] | None]
    ) -> Iterator[bool]:
        """Yield the matches of the main server's patterns with the existing directories and files."""
        for section in self.patterned:
            for (_, target), paths in zip(maps, below, strict=True):
                for path in paths or ():
                    yield section.matches(target.rstrip("/") + path)

    def _path(self, path: str, parts: dict[str, int]) -> tuple[object, ...]:
        return tuple(parts.get(part, part) for part in path.split("/"))

    def _shape(
        self, section: AccessSection, index: dict[AccessSection, int], profile: _HostProfile
    ) -> tuple[object, ...]:
        pattern: object = section.pattern
        if section.kind is SectionKind.DIRECTORY:
            pattern = self._path(section.pattern, profile.parts)
        elif section.kind is SectionKind.HTACCESS:
            pattern = (self._path(section.directory, profile.parts), section.file.document.bytes)
        outer = index[section.outer] if section.outer is not None else -1
        overrides = tuple((line.name, line.args) for line in section.override_lines)
        texts = tuple(self._lines(lines, profile.names) for lines in _lines_of(section))
        conditions = (section.conditions, section.branches, section.loses_lines)
        return (
            section.kind.value,
            pattern,
            section.regex is not None,
            section.is_proxy,
            section.is_malformed,
            conditions,
            outer,
            overrides,
            texts,
            _has_proxypass(section),
        )

    def _lines(self, lines: Iterable[AccessLine], names: OwnNames) -> tuple[object, ...]:
        return tuple(
            (line.name, self._words(line, names), self._lines(line.children, names)) for line in lines
        )

    def _words(self, line: AccessLine, names: OwnNames) -> tuple[object, ...]:
        """Return the arguments of a line; the host's own names are replaced by numbers."""
        if line.name not in _NAMING:
            return (line.args,)
        words = line.args.split(" ")
        clients = frozenset(_clients_of(line))
        if clients:
            return tuple(self._number(word, names.clients) if word in clients else word for word in words)
        if line.name == "require" and words[0] in _USERS:
            return (words[0], *(self._number(word, names.users) for word in words[1:]))
        text = _text_of(line, self.tree.text_root)
        if text:
            return (
                self._number(text, names.texts),
                line.name in _PATHS and _is_readable(text, self.tree.disk),
            )
        return (line.args,)

    def _number(self, word: str, names: dict[str, int]) -> object:
        if not word or word in self.shared_words or (names is not None and not _QUOTES.isdisjoint(word)):
            return word
        return names.setdefault(word, len(names))

    def _enclosing_sections(self, directories: list[str]) -> Iterator[object]:
        """Yield the main-server sections that apply to the directories, and to paths below them."""
        for directory in directories:
            for above in ancestors(directory):
                yield from map(id, self.literal.get(above, ()))
            below = bisect_left(self.directories, directory)
            while below < len(self.directories) and self.directories[below].startswith(directory):
                yield self.directories[below]
                below += 1
            yield None
        for section in self.patterned:
            for directory in directories:
                yield from (
                    section.matches(text)
                    for text in (
                        *ancestors(directory),
                        directory.rstrip("/"),
                        *(directory + name for name in _sample_names(section)),
                    )
                )

    def _relations(self, clients: dict[str, int]) -> object:
        """Return the relations of the host's addresses and names to each other and to those of all hosts."""
        words = tuple(clients)
        return words if len(words) + len(self.clients) > _MAX_WORDS else _related((*words, *self.clients))


# words ----------------------------------------------------------------------------------------------
def _clients_of(line: AccessLine) -> Iterator[str]:
    """Yield the addresses and host names of an Allow, Deny or Require line."""
    if line.name in ("allow", "deny"):
        for word in line.args.split(" ")[1:]:
            if word and word.lower() != "all" and not word.lower().startswith("env="):
                yield word
    elif line.name == "require" and line.args.startswith(CLIENT_LISTS):
        yield from filter(None, line.args.removeprefix("not ").split(" ")[1:])


def _text_of(line: AccessLine, root: str) -> str:
    """Return the realm or file that a line names, "" if it names none."""
    if line.name == "authname":
        return getword(line.args)[0]
    return absolute_path(root, getword(line.args)[0]) if line.name in _PATHS else ""


def password_file_exists(path: str, disk: CopiedPaths) -> bool:
    """Return True if a password or group file exists, with any suffix of its kind."""
    return any(disk.is_file(path + ending) for ending in ("", ".pag", ".db"))


def _is_readable(path: str, disk: CopiedPaths) -> tuple[bool, bool]:
    return password_file_exists(path, disk), disk.is_directory(os.path.dirname(path))


@lru_cache(maxsize=65536)
def _network(word: str) -> Network | None:
    address, slash, mask = word.partition("/")
    try:
        return parse_network(address, mask if slash else None)
    except InvalidNetwork:
        return None


@lru_cache(maxsize=65536)
def _related(words: tuple[str, ...]) -> tuple[object, ...]:
    networks = {at: network for at, word in enumerate(words) if (network := _network(word)) is not None}
    names = {at: HostIn(frozenset({word.lower()})) for at, word in enumerate(words) if at not in networks}
    return (
        tuple(networks),
        frozenset(addresses([address_set([network]) for network in networks.values()])),
        frozenset(hosts(list(names.values()))),
    )


# paths ----------------------------------------------------------------------------------------------
@lru_cache(maxsize=256)
def _sample_names(section: AccessSection) -> tuple[str, ...]:
    """Return sample names below a directory that patterns of the main server may match."""
    texts = (
        regex_samples(section.pattern)
        if section.regex is not None
        else wildcard_samples(section.pattern, by_segment=True)
    )
    return (
        "",
        "other",
        *dict.fromkeys(text.rstrip("/").rpartition("/")[2] for text in texts),
        *(text.lstrip("/") for text in texts),
    )


# hosts ----------------------------------------------------------------------------------------------
def _is_unique(section: AccessSection) -> bool:
    """Return True if a section cannot have an equivalent: it has a branch for 2.4, or its pattern matches
    several directories."""
    by_pattern = section.kind is SectionKind.DIRECTORY_MATCH or (
        section.kind is SectionKind.DIRECTORY and (section.regex is not None or section.fnmatch)
    )
    return by_pattern or (section.is_upgraded and bool(section.lines_24_only))


def _lines_of(section: AccessSection) -> tuple[Lines, Lines]:
    """Return the lines that 2.2 reads, which has none in the containers of 2.4, and those of an upgraded
    section that 2.4 reads."""
    return section.access_lines, section.access_lines_24 if section.is_upgraded else ()


def _has_proxypass(section: AccessSection) -> bool:
    return section.statement is not None and any(
        child.name == "proxypass" for child in section.statement.children
    )


def _equivalent_host(first: Statement, first_profile: _HostProfile, profile: _HostProfile) -> EquivalentHost:
    def exchanged(first_names: dict[str, int], other_names: dict[str, int]) -> dict[str, str]:
        return dict(zip(first_names, other_names, strict=True))

    return EquivalentHost(
        first,
        dict(zip(first_profile.sections, profile.sections, strict=True)),
        exchanged(first_profile.names.clients, profile.names.clients),
        exchanged(first_profile.names.users, profile.names.users),
        exchanged(first_profile.parts, profile.parts),
    )
