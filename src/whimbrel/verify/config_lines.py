"""The lines of one side with the scopes that they stand in: main files as executed, and .htaccess files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final

from whimbrel.base.file_reading import read_start
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.config.model import Server
from whimbrel.directives.node import Node
from whimbrel.directives.tokens import getword
from whimbrel.syntax import tree
from whimbrel.verify.derive.mapped_directories import PATTERNED, above, mapped_directories, mass_directories
from whimbrel.verify.derive.mass_hosts import mass_hosts
from whimbrel.verify.side import Side

SECTIONS: Final = frozenset(
    "directory directorymatch files filesmatch location locationmatch if elseif else proxy proxymatch".split()
)
MAX_DIRECTORIES: Final = 2000
"""Directories that are searched for .htaccess files, and looked at as probes."""
MAX_FILES: Final = 20000
MAX_HTACCESS: Final = 1 << 20


@dataclass(eq=False, slots=True)
class LineScope:
    """A section, a .htaccess file or a server; compared by identity.

    Attributes:
        kind: server, htaccess, or the name of a section in lower case.
        args: the argument of the section; the directory of a .htaccess file, with its slash.
        host: location of the virtual host, ("", 0) for the main server.
        outer: the scope around it.
        lines: its own lines, without those of sections in it.
        spelled: the name of a section as in the file.
    """

    kind: str
    args: str
    path: str
    line: int
    host: tuple[str, int] = ("", 0)
    outer: LineScope | None = None
    lines: list[ConfigLine] = field(default_factory=list)
    spelled: str = ""

    @property
    def written(self) -> str:
        """The opening line."""
        return f"<{self.spelled or self.kind} {self.args}>" if self.kind in SECTIONS else self.kind

    def words(self) -> list[str]:
        """Return the arguments of the section without their quotes."""
        return _words(self.args)


@dataclass(eq=False, slots=True)
class ConfigLine:
    """One directive; *name* is in lower case, without ``<``.

    *container*: the containers around it inside its scope, such as ``<requireany>``, outermost first.
    *spelled*: the name as in the file, with ``<`` for a container.
    """

    name: str
    args: str
    path: str
    line: int
    scope: LineScope
    container: str = ""
    spelled: str = ""

    @property
    def text(self) -> str:
        """The line as a report shows it: as in the file, with single blanks."""
        name = self.spelled or self.name
        blank = "" if self.args.strip() == ">" else " "  # of a container without argument
        return f"{name}{blank}{' '.join(self.args.split())}".strip()

    def words(self) -> list[str]:
        """Return the arguments without their quotes."""
        return _words(self.args)


def _words(text: str) -> list[str]:
    found = []
    while text.strip():
        word, text = getword(text)
        found.append(word)
    return found


@dataclass(slots=True, eq=False)
class ServedPaths:
    """What one server maps: its document root and aliases, longest URL prefix first."""

    root: str
    aliases: list[tuple[str, str]]

    def urls_of(self, path: str) -> list[str]:
        """Return URL paths that are mapped to *path*."""
        found = []
        for prefix, target in (*self.aliases, ("/", self.root.rstrip("/") + "/")):
            if path.startswith(target):
                found.append(prefix + path[len(target) :])
            elif path.rstrip("/") == target.rstrip("/"):
                found.append(prefix)
        return found

    def path_of(self, url: str) -> str:
        """Return the path that the URL path of a directory is mapped to, both with their slash."""
        for prefix, target in (*self.aliases, ("/", self.root)):
            if url.startswith(prefix.rstrip("/") + "/"):
                return target.rstrip("/") + "/" + url[len(prefix.rstrip("/")) + 1 :]
        return self.root

    @property
    def tops(self) -> list[str]:
        """The directories that are served."""
        return list(dict.fromkeys([self.root.rstrip("/") + "/", *(target for _, target in self.aliases)]))


class SideLines:
    """All lines of a side.

    Attributes:
        scopes: in the order of reading; those of .htaccess files last.
        directories: existing directories below what servers map, with the names in them.
        mass_tops: the directories that have those of all hosts of VirtualDocumentRoot.
        is_cut: not all directories were looked at.
    """

    def __init__(self, side: Side) -> None:
        self.side = side
        self.scopes: list[LineScope] = []
        self.main = self._scope("server", "", "", 0, ("", 0), None)
        self.hosts: dict[tuple[str, int], LineScope] = {("", 0): self.main}
        self._nodes(side.loaded.tree, self.main)
        self._by_place = {(scope.path, scope.line): scope for scope in self.scopes}
        self._own: dict[tuple[str, int], list[LineScope]] = {}
        for scope in self.scopes:
            self._own.setdefault(scope.host, []).append(scope)
        self._served: dict[tuple[str, int], ServedPaths] = {}
        self._main_aliases = self._aliases(("", 0))
        self.directories: dict[str, list[str]] = {}
        self.mass_tops: set[str] = set()
        self.is_cut = False
        self._walk()

    def of_host(self, host: tuple[str, int]) -> list[LineScope]:
        """Return the scopes that stand in the server *host* itself."""
        return self._own.get(host, [])

    def at(self, path: str, line: int) -> LineScope | None:
        """Return the scope that begins there; line 0 for a .htaccess file."""
        return self._by_place.get((path, line))

    def served(self, server: Server) -> ServedPaths:
        """Return what *server* maps."""
        key = key_of(server)
        known = self._served.get(key)
        if known is None:
            root = server.config(CoreServerConfig).document_root or self.side.loaded.default_document_root
            own = self._aliases(key) if key != ("", 0) else []
            own += [("/", host.root) for host in mass_hosts(server, self.side.loaded.disk)]
            aliases = sorted([*own, *self._main_aliases], key=lambda pair: -len(pair[0]))
            known = ServedPaths(root, aliases)
            self._served[key] = known
        return known

    @cached_property
    def has_multiviews(self) -> bool:
        """Return True if a line enables MultiViews."""
        return any(
            line.name == "options" and "multiviews" in line.args.lower()
            for scope in self.scopes
            for line in scope.lines
        )

    # reading ----------------------------------------------------------------------------------------
    def _scope(
        self, kind: str, args: str, path: str, line: int, host: tuple[str, int], outer: LineScope | None
    ) -> LineScope:
        scope = LineScope(kind, args, path, line, host, outer)
        self.scopes.append(scope)
        return scope

    def _nodes(self, nodes: Sequence[Node], scope: LineScope) -> None:
        waiting = [(node, scope, "") for node in reversed(nodes)]
        while waiting:
            node, around, container = waiting.pop()
            low = node.name.lower().removeprefix("<")
            place = node.place
            spelled = node.spelled or node.name
            inside = around
            if low == "virtualhost":
                host = (place.path, place.line)
                inside = self._scope("server", node.args, place.path, place.line, host, self.main)
                self.hosts[host] = inside
            elif node.name.startswith("<") and low in SECTIONS:
                args = node.args.rpartition(">")[0].strip()
                inside = self._scope(low, args, place.path, place.line, around.host, around)
                inside.spelled = spelled.removeprefix("<")
            else:
                line = ConfigLine(low, node.args, place.path, place.line, around, container, spelled)
                around.lines.append(line)
            within = _container_of(node.name, node.args, container) if inside is around else ""
            waiting.extend((child, inside, within) for child in reversed(node.children))

    def _pieces(self, nodes: Iterable[tree.Node], path: str, scope: LineScope, container: str = "") -> None:
        for node in nodes:
            if isinstance(node, tree.Directive):
                low = node.name.lower()
                line = ConfigLine(low, node.args, path, node.number, scope, container, node.name)
                scope.lines.append(line)
            elif isinstance(node, tree.Section):
                low = node.name.lower()
                inside = scope
                within = ""
                if low in SECTIONS:
                    args = node.args.rpartition(">")[0].strip()
                    inside = self._scope(low, args, path, node.number, scope.host, scope)
                    inside.spelled = node.name
                else:
                    spelled = "<" + node.name
                    line = ConfigLine(low, node.args, path, node.number, scope, container, spelled)
                    scope.lines.append(line)
                    within = _container_of("<" + low, node.args, container)
                self._pieces(node.children, path, inside, within)

    def _aliases(self, host: tuple[str, int]) -> list[tuple[str, str]]:
        found = []
        root = self.side.loaded.root
        disk = self.side.loaded.disk
        for scope in self._own.get(host, []):
            for line in scope.lines if scope.kind == "server" else ():
                if line.name in PATTERNED:
                    found += mapped_directories(line.name, line.words(), root, disk)
                elif line.name in ("alias", "scriptalias") and len(words := line.words()) == 2:
                    target = os.path.join(root, words[1])
                    slash = words[0].endswith("/")
                    found.append((words[0] if slash else words[0] + "/", target.rstrip("/") + "/"))
        return found

    def _walk(self) -> None:
        """Find the directories, files and .htaccess files below what servers map."""
        names = {
            name
            for server in self.side.loaded.servers()
            for name in server.config(CoreServerConfig).access_names
        }
        files = 0
        tops = dict.fromkeys(top for server in self.side.loaded.servers() for top in self.served(server).tops)
        for host in self.hosts.values():
            for line in host.lines:
                self.mass_tops.update(mass_directories(line.name, line.words(), self.side.loaded.root))
        tops.update(dict.fromkeys(sorted(self.mass_tops)))
        for directory in sorted({outer for top in tops for outer in above(top)}):
            if not any(outer in tops for outer in (directory, *above(directory))):
                for name in sorted(names):
                    self._htaccess(directory, name)
        for top in tops:
            for where, below, found in self.side.loaded.disk.walk(top):
                directory = where.rstrip("/") + "/"
                if directory in self.directories:
                    below.clear()
                    continue
                below.sort()
                texts = sorted(map(to_text, (*found, *below)))
                files += len(texts)
                self.directories[directory] = texts
                for name in names & set(texts):
                    self._htaccess(directory, name)
                if len(self.directories) >= MAX_DIRECTORIES or files >= MAX_FILES:
                    self.is_cut = True
                    return

    def htaccess_text(self, path: str) -> bytes | None:
        """Return the beginning of a .htaccess file, None for one that cannot be read."""
        data = self.side.options.overlaid(path)
        try:
            return read_start(to_bytes(path), MAX_HTACCESS) if data is None else data
        except OSError:
            return None

    def _htaccess(self, directory: str, name: str) -> None:
        path = self.side.loaded.disk.openable(directory + name)
        data = self.htaccess_text(path)
        if data is None:
            return
        scope = self._scope("htaccess", directory, path, 0, ("", 0), self.main)
        self._by_place[path, 0] = scope
        self._own.setdefault(("", 0), []).append(scope)
        before = len(self.scopes)
        self._pieces(tree.parse(data).children, path, scope)
        for inner in self.scopes[before:]:
            self._by_place[inner.path, inner.line] = inner
            self._own[("", 0)].append(inner)


_CONDITIONS: Final = ("<if", "<macro")
"""The beginnings of containers whose contents count as lines of the scope around them."""


def _container_of(name: str, args: str, around: str) -> str:
    """Return the containers around the contents of a node."""
    low = name.lower()
    if not low.startswith("<") or low.startswith(_CONDITIONS):
        return around
    return f"{around}{low} {' '.join(args.split())}".lower()


def key_of(server: Server) -> tuple[str, int]:
    """Return the location of a virtual host; ("", 0) for the main server."""
    place = server.place
    return (place.path, place.line) if server.is_virtual and place is not None else ("", 0)


def lines_of(scopes: Iterable[LineScope]) -> Iterator[ConfigLine]:
    """Yield the lines of *scopes*."""
    for scope in scopes:
        yield from scope.lines
