"""What one section or .htaccess file says about access: the lines that matter, apart from any file, tree or settings record."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from whimbrel.base.errors import ConfigError, SourceLocation
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.config.model import SectionKind
from whimbrel.directives import node as directives
from whimbrel.syntax import tree

ALIASES: Final = frozenset({"authnprovideralias", "authzprovideralias"})
CONTAINERS: Final = frozenset({"limit", "limitexcept", "requireall", "requireany", "requirenone"}) | ALIASES
_WORDS: Final = frozenset(
    {
        "order",
        "allow",
        "deny",
        "satisfy",
        "require",
        "authmerging",
        "authzsendforbiddenonfailure",
        "anonymous",
    }
)
_FAMILIES: Final = re.compile(
    r"auth(type|name|userfile|groupfile|basic|digest|dbm|dbd|n|z|default|ldap|form).*|anonymous_.*"
)


@dataclass(frozen=True, slots=True)
class AccessLine:
    """One directive.

    *name* in lower case and without ``<``; *args* as written, of a container without the closing ``>``; *children* are a container's.  Lines are
    equal wherever they stand.
    """

    name: str
    args: str
    place: SourceLocation | None = field(default=None, compare=False)
    children: tuple[AccessLine, ...] = ()

    @property
    def is_container(self) -> bool:
        """Return True if the line opens a section."""
        return bool(self.children) or self.name in CONTAINERS


@dataclass(frozen=True, slots=True)
class AccessLayer:
    """What ONE section or file says about access.

    *kind* is the section that the lines stand in (HTACCESS for a .htaccess file, SERVER outside of all); a section inside another is a layer of its
    own.  *htaccess*: an error in it fails requests, not the start; a section inside a .htaccess file has it too.
    """

    lines: tuple[AccessLine, ...]
    kind: SectionKind = SectionKind.DIRECTORY
    in_htaccess: bool = False
    place: SourceLocation | None = field(default=None, compare=False)


def is_access_directive(name: str) -> bool:
    """Return True if a directive of this name (any case, without ``<``) says something about access."""
    low = name.lower()
    return low in _WORDS or low in CONTAINERS or _FAMILIES.fullmatch(low) is not None


def lines_of_nodes(nodes: Iterable[directives.Node]) -> tuple[AccessLine, ...]:
    """The relevant lines among *nodes*; raises ConfigError where a container lacks its ``>``."""
    return tuple(_lines(_of_nodes(nodes)))


def lines_of_tree(
    nodes: Iterable[tree.Node], path: str, expand: Callable[[str], str] = lambda text: text
) -> tuple[AccessLine, ...]:
    """The relevant lines among the nodes of a file's tree at *path*; *expand* replaces ``${NAME}``.  Raises like `lines_of_nodes`."""
    return tuple(_lines(_of_tree(nodes, path, expand)))


@dataclass(frozen=True, slots=True)
class _RawDirective:
    """A directive of either tree; *args* of a container still end in ``>``."""

    name: str
    args: str
    place: SourceLocation
    is_container: bool
    children: Iterator[_RawDirective]


def _of_nodes(nodes: Iterable[directives.Node]) -> Iterator[_RawDirective]:
    for node in nodes:
        yield _RawDirective(
            node.name.removeprefix("<"),
            node.args,
            node.place,
            node.name.startswith("<"),
            _of_nodes(node.children),
        )


def _of_tree(nodes: Iterable[tree.Node], path: str, expand: Callable[[str], str]) -> Iterator[_RawDirective]:
    for node in nodes:
        if isinstance(node, tree.Directive):
            yield _RawDirective(
                node.name, expand(node.args), SourceLocation(path, node.number), False, iter(())
            )
        elif isinstance(node, tree.Section):
            yield _RawDirective(
                node.name,
                expand(node.args),
                SourceLocation(path, node.number),
                True,
                _of_tree(node.children, path, expand),
            )


def _lines(raws: Iterator[_RawDirective]) -> Iterator[AccessLine]:
    for directive in raws:
        low = directive.name.lower()
        if directive.is_container and low in CONTAINERS:
            args, bracket, _ = directive.args.rpartition(">")
            if not bracket:
                raise ConfigError(f"<{directive.name}> directive missing closing '>'", directive.place)
            yield AccessLine(low, args, directive.place, tuple(_lines(directive.children)))
        elif not directive.is_container and is_access_directive(low):
            yield AccessLine(low, directive.args, directive.place)
