"""What one section or .htaccess file says about access: the lines that matter, apart from any file, tree or settings record."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from whimbrel.config.model import SectionKind
from whimbrel.directives import node as directives
from whimbrel.errors import ConfigError, Place
from whimbrel.records import dataclass, field
from whimbrel.syntax import tree

ALIASES: Final = frozenset({"authnprovideralias", "authzprovideralias"})
CONTAINERS: Final = frozenset({"limit", "limitexcept", "requireall", "requireany", "requirenone"}) | ALIASES
_WORDS: Final = frozenset({
    "order", "allow", "deny", "satisfy", "require", "authmerging", "authzsendforbiddenonfailure", "anonymous",
})
_FAMILIES: Final = re.compile(r"auth(type|name|userfile|groupfile|basic|digest|dbm|dbd|n|z|default|ldap|form).*|anonymous_.*")


@dataclass(frozen=True, slots=True)
class Line:
    """One directive.

    *name* in lower case and without ``<``; *args* as written, of a container without the closing ``>``; *children* are a container's.  Lines are
    equal wherever they stand.
    """

    name: str
    args: str
    place: Place | None = field(default=None, compare=False)
    children: tuple[Line, ...] = ()

    @property
    def is_container(self) -> bool:
        """Whether the line opens a section."""
        return bool(self.children) or self.name in CONTAINERS


@dataclass(frozen=True, slots=True)
class Layer:
    """What ONE section or file says about access.

    *kind* is the section that the lines stand in (HTACCESS for a .htaccess file, SERVER outside of all); a section inside another is a layer of its
    own.  *htaccess*: an error in it fails requests, not the start; a section inside a .htaccess file has it too.
    """

    lines: tuple[Line, ...]
    kind: SectionKind = SectionKind.DIRECTORY
    htaccess: bool = False
    place: Place | None = field(default=None, compare=False)


def is_relevant(name: str) -> bool:
    """Whether a directive of this name (any case, without ``<``) says something about access."""
    low = name.lower()
    return low in _WORDS or low in CONTAINERS or _FAMILIES.fullmatch(low) is not None


def lines_of_nodes(nodes: Iterable[directives.Node]) -> tuple[Line, ...]:
    """The relevant lines among *nodes*; raises ConfigError where a container lacks its ``>``."""
    return tuple(_lines(_of_nodes(nodes)))


def lines_of_tree(nodes: Iterable[tree.Node], path: str, expand: Callable[[str], str] = lambda text: text) -> tuple[Line, ...]:
    """The relevant lines among the nodes of a file's tree at *path*; *expand* replaces ``${NAME}``.  Raises like `lines_of_nodes`."""
    return tuple(_lines(_of_tree(nodes, path, expand)))


@dataclass(frozen=True, slots=True)
class _Raw:
    """A directive of either tree; *args* of a container still end in ``>``."""

    name: str
    args: str
    place: Place
    container: bool
    children: Iterator[_Raw]


def _of_nodes(nodes: Iterable[directives.Node]) -> Iterator[_Raw]:
    for node in nodes:
        yield _Raw(node.name.removeprefix("<"), node.args, node.place, node.name.startswith("<"), _of_nodes(node.children))


def _of_tree(nodes: Iterable[tree.Node], path: str, expand: Callable[[str], str]) -> Iterator[_Raw]:
    for node in nodes:
        if isinstance(node, tree.Directive):
            yield _Raw(node.name, expand(node.args), Place(path, node.number), False, iter(()))
        elif isinstance(node, tree.Section):
            yield _Raw(node.name, expand(node.args), Place(path, node.number), True, _of_tree(node.children, path, expand))


def _lines(raws: Iterator[_Raw]) -> Iterator[Line]:
    for found in raws:
        low = found.name.lower()
        if found.container and low in CONTAINERS:
            args, bracket, _ = found.args.rpartition(">")
            if not bracket:
                raise ConfigError(f"<{found.name}> directive missing closing '>'", found.place)
            yield Line(low, args, found.place, tuple(_lines(found.children)))
        elif not found.container and is_relevant(low):
            yield Line(low, found.args, found.place)
