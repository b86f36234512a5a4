"""Virtual hosts that are alike: the same sections with the same lines in the same order, about folders, clients and users of their own.

What is worked out for one of them holds for all, with the names exchanged.  Hosts are alike when nothing that a decision or a match depends on
tells them apart: the shape of their sections, the sections of the main server that hold for their folders, what their addresses and host
names have to do with each other and with everybody's.  Hosts with .htaccess files or other files on this machine are never alike.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from whimbrel.access.atoms import HostIn, address_set
from whimbrel.access.clients import addresses, hosts
from whimbrel.access.layers import Line
from whimbrel.config.model import SectionKind
from whimbrel.modules.networks import BadAddress, Network, parse_network
from whimbrel.octets import raw
from whimbrel.records import dataclass, field
from whimbrel.syntax.words import getword
from whimbrel.upgrade.access_control.samples import of_regex, of_wildcards
from whimbrel.upgrade.access_control.sections import Found, Unit, absolute, ancestors
from whimbrel.upgrade.estate import Estate, Statement

_PATHS: Final = frozenset({"authuserfile", "authgroupfile", "authdbmuserfile", "authdbmgroupfile", "authdigestfile"})
_USERS: Final = frozenset({"user", "group"})
_QUOTES: Final = frozenset("\"'\\")
_MOST_WORDS: Final = 10
"""Of a host's own addresses; with more of them hosts are alike only where these are the same."""

Lines = tuple[Line, ...]


@dataclass(slots=True, eq=False)
class Names:
    """What a host's lines call their own, in the order of first use: clients (addresses and host names), users and groups, other texts."""

    clients: dict[str, int] = field(default_factory=dict)
    users: dict[str, int] = field(default_factory=dict)
    texts: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Twin:
    """A host that is like *first*: *units* has its section for each of the other's, *parts* the components of its folders' paths."""

    first: Statement
    units: dict[Unit, Unit]
    clients: dict[str, str]
    users: dict[str, str]
    parts: dict[str, str]

    def lines(self, lines: Iterable[Line]) -> Lines:
        """Lines about access of the first host as this one has them."""
        return tuple(self._line(line) for line in lines)

    def _line(self, line: Line) -> Line:
        if line.children:
            return Line(line.name, line.args, line.place, self.lines(line.children))
        names = self.clients if line.name in ("allow", "deny") or line.args.startswith(("ip ", "host ", "not ip ", "not host ")) else self.users
        if not names or line.name not in ("allow", "deny", "require"):
            return line
        return Line(line.name, " ".join(names.get(word, word) for word in line.args.split(" ")), line.place)

    def path(self, path: str) -> str:
        """A path of the first host as this one has it."""
        return "/".join(self.parts.get(part, part) for part in path.split("/"))

    @property
    def same_names(self) -> bool:
        """Whether clients and users have the same names here."""
        return all(a == b for names in (self.clients, self.users) for a, b in names.items())


@dataclass(slots=True, eq=False)
class _Seen:
    """A host as it is looked at."""

    own: list[Unit]
    parts: dict[str, int]
    names: Names


class Likeness:
    """The hosts of an estate by what they have in common."""

    def __init__(self, estate: Estate, found: Found) -> None:
        self.estate, self.found = estate, found
        shared, _ = found.of_server(None)
        lines = [line for unit in shared for line in _flat(unit.told)]
        self.named = {word for line in lines for word in (*line.args.split(" "), _text_of(line, estate.root))}
        self.literal: dict[str, list[Unit]] = {}
        self.patterned: list[Unit] = []
        for unit in shared:
            if unit.kind is SectionKind.DIRECTORY and unit.regex is None and not unit.fnmatch:
                self.literal.setdefault(unit.pattern, []).append(unit)
            elif unit.kind in (SectionKind.DIRECTORY, SectionKind.DIRECTORY_MATCH):
                self.patterned.append(unit)
        self.folders = sorted(self.literal)
        self.htaccess = sorted(unit.folder for unit in shared if unit.kind is SectionKind.HTACCESS)
        self.clients = sorted({word for line in lines for word in _clients_of(line)})
        self.inherited = [_slashed(target) for _, target in found.aliases.get(0, [])]
        self.common = Counter(part for server in found.servers for part in {p for target in self._targets(server) for p in target.split("/")})

    def twins(self) -> dict[Statement, Twin]:
        """The hosts that are like an earlier one."""
        first: dict[tuple[object, ...], tuple[Statement, _Seen]] = {}
        twins: dict[Statement, Twin] = {}
        if len(self.found.servers) < 2:
            return twins
        for number, server in enumerate(dict.fromkeys(self.found.servers)):
            self.estate.step("which hosts are alike", number, len(self.found.servers))
            seen, signature = self._signature(server)
            if signature is None:
                continue
            known = first.setdefault(signature, (server, seen))
            if known[0] is not server:
                twins[server] = _twin(*known, seen)
        return twins

    def _maps(self, server: Statement) -> list[tuple[str, str]]:
        key = self.found.key(server)
        root = self.found.roots.get(key)
        return [*self.found.aliases.get(key, []), *([("/", root)] if root is not None else [])]

    def _targets(self, server: Statement) -> list[str]:
        return [target for _, target in self._maps(server)]

    # what tells hosts apart -------------------------------------------------------------------------
    def _signature(self, server: Statement) -> tuple[_Seen, tuple[object, ...] | None]:
        own = self.found.of_server(server)[1]
        maps = self._maps(server)
        parts: dict[str, int] = {}
        for _, target in maps:
            for part in target.split("/"):
                if part and self.common[part] < len(self.found.servers):
                    parts.setdefault(part, len(parts))
        seen = _Seen(own, parts, Names())
        if any(_is_peculiar(unit) for unit in own) or any(self._is_there(target) for _, target in maps):
            return seen, None
        folders = list(dict.fromkeys([*(_slashed(target) for _, target in maps), *(u.pattern for u in own if u.kind is SectionKind.DIRECTORY)]))
        if any(folder.startswith(target) for folder in folders for target in self.inherited):
            return seen, None
        index = {unit: at for at, unit in enumerate(own)}
        shapes = tuple(self._shape(unit, index, seen) for unit in own)
        places = tuple((prefix, self._path(target, parts)) for prefix, target in maps)
        return seen, (shapes, places, tuple(self._around(folders)), self._relations(seen.names.clients))

    def _is_there(self, target: str) -> bool:
        """Whether something of the folder is on this machine, or a .htaccess file speaks about it."""
        folder = _slashed(target)
        at = bisect_left(self.htaccess, folder)
        return (at < len(self.htaccess) and self.htaccess[at].startswith(folder)) or os.path.lexists(raw(target))

    def _path(self, path: str, parts: dict[str, int]) -> tuple[object, ...]:
        return tuple(parts.get(part, part) for part in path.split("/"))

    def _shape(self, unit: Unit, index: dict[Unit, int], seen: _Seen) -> tuple[object, ...]:
        pattern: object = self._path(unit.pattern, seen.parts) if unit.kind is SectionKind.DIRECTORY else unit.pattern
        outer = index[unit.outer] if unit.outer is not None else -1
        overrides = tuple((line.name, line.args) for line in unit.overrides)
        texts = self._lines(unit.told, seen.names)
        conditions = (unit.conditions, unit.branches, unit.loses_lines)
        return unit.kind, pattern, unit.regex is not None, unit.proxy, unit.unreadable, conditions, outer, overrides, texts, _passes(unit)

    def _lines(self, lines: Iterable[Line], names: Names) -> tuple[object, ...]:
        return tuple((line.name, self._words(line, names), self._lines(line.children, names)) for line in lines)

    def _words(self, line: Line, names: Names) -> tuple[object, ...]:
        """The words of a line; those that are the host's own as numbers."""
        words = line.args.split(" ")
        if line.name in ("allow", "deny"):
            own = frozenset(_clients_of(line))
            return tuple(self._number(word, names.clients) if word in own else word for word in words)
        if line.name == "require" and words[0] in _USERS:
            return (words[0], *(self._number(word, names.users) for word in words[1:]))
        text = _text_of(line, self.estate.root)
        if text:
            return (self._number(text, names.texts), *(line.name in _PATHS and is_there(text),))
        return (line.args,)

    def _number(self, word: str, names: dict[str, int]) -> object:
        if not word or word in self.named or (names is not None and not _QUOTES.isdisjoint(word)):
            return word
        return names.setdefault(word, len(names))

    def _around(self, folders: list[str]) -> Iterator[object]:
        """Which sections of the main server hold for the folders, and for what lies in them."""
        for folder in folders:
            for above in ancestors(folder):
                yield from map(id, self.literal.get(above, ()))
            below = bisect_left(self.folders, folder)
            while below < len(self.folders) and self.folders[below].startswith(folder):
                yield self.folders[below]
                below += 1
            yield None
        for unit in self.patterned:
            for folder in folders:
                yield from (unit.matches(text) for text in (*ancestors(folder), folder.rstrip("/"), *(folder + name for name in _tries(unit))))

    def _relations(self, clients: dict[str, int]) -> object:
        """What the host's addresses and names have to do with each other and with those of everybody."""
        words = tuple(clients)
        return words if len(words) + len(self.clients) > _MOST_WORDS else _related((*words, *self.clients))


# words ----------------------------------------------------------------------------------------------
def _flat(lines: Iterable[Line]) -> Iterator[Line]:
    for line in lines:
        yield line
        yield from _flat(line.children)


def _clients_of(line: Line) -> Iterator[str]:
    """The addresses and host names of an Allow or Deny line."""
    if line.name in ("allow", "deny"):
        for word in line.args.split(" ")[1:]:
            if word and word.lower() != "all" and not word.lower().startswith("env="):
                yield word


def _text_of(line: Line, root: str) -> str:
    """The realm or the file that a line names, "" where it names none."""
    if line.name == "authname":
        return getword(line.args)[0]
    return absolute(root, getword(line.args)[0]) if line.name in _PATHS else ""


def is_there(path: str) -> bool:
    """Whether a password or group file is on this machine, in one of the forms that it may have."""
    return any(os.path.isfile(raw(path + ending)) for ending in ("", ".pag", ".db"))


@lru_cache(maxsize=65536)
def _network(word: str) -> Network | None:
    address, slash, mask = word.partition("/")
    try:
        return parse_network(address, mask if slash else None)
    except BadAddress:
        return None


@lru_cache(maxsize=65536)
def _related(words: tuple[str, ...]) -> tuple[object, ...]:
    networks = {at: network for at, word in enumerate(words) if (network := _network(word)) is not None}
    names = {at: HostIn(frozenset({word.lower()})) for at, word in enumerate(words) if at not in networks}
    return tuple(networks), frozenset(addresses([address_set([network]) for network in networks.values()])), frozenset(hosts(list(names.values())))


# paths ----------------------------------------------------------------------------------------------
def _slashed(path: str) -> str:
    return path.rstrip("/") + "/"


@lru_cache(maxsize=256)
def _tries(unit: Unit) -> tuple[str, ...]:
    """Names below a folder that a pattern of the main server may be about."""
    texts = of_regex(unit.pattern) if unit.regex is not None else of_wildcards(unit.pattern, by_segment=True)
    return ("", "other", *dict.fromkeys(text.rstrip("/").rpartition("/")[2] for text in texts), *(text.lstrip("/") for text in texts))


# hosts ----------------------------------------------------------------------------------------------
def _is_peculiar(unit: Unit) -> bool:
    """Whether a section says what only its own text can tell: it is of 2.4, or about folders that a pattern finds."""
    by_pattern = unit.kind is SectionKind.DIRECTORY_MATCH or (unit.kind is SectionKind.DIRECTORY and (unit.regex is not None or unit.fnmatch))
    return unit.carried or by_pattern


def _passes(unit: Unit) -> bool:
    return unit.statement is not None and any(child.name == "proxypass" for child in unit.statement.children)


def _twin(first: Statement, model: _Seen, seen: _Seen) -> Twin:
    def exchanged(old: dict[str, int], new: dict[str, int]) -> dict[str, str]:
        return dict(zip(old, new, strict=True))

    return Twin(first, dict(zip(model.own, seen.own, strict=True)), exchanged(model.names.clients, seen.names.clients),
                exchanged(model.names.users, seen.names.users), exchanged(model.parts, seen.parts))
