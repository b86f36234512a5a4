"""The lines about access of one section or .htaccess file, independent of files, trees and
settings records."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
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
SSL_CONDITIONS: Final = frozenset({"sslrequiressl", "sslrequire"})
"""Conditions of mod_ssl's access checker, which Satisfy joins with the other ones."""
_FAMILIES: Final = re.compile(
    r"auth(type|name|userfile|groupfile|basic|digest|dbm|dbd|n|z|default|ldap|form).*|anonymous_.*"
)


MAX_NAMES: Final = 4096
"""Names of directives of which it is remembered whether they are about access."""


@dataclass(frozen=True, slots=True)
class AccessLine:
    """One directive; lines with equal text are equal wherever they stand.

    Attributes:
        name: the name in lower case, without ``<``.
        args: the arguments as written, of a container without the closing ``>``.
        children: the lines of a container.
    """

    name: str
    args: str
    place: SourceLocation | None = field(default=None, compare=False)
    children: tuple[AccessLine, ...] = ()

    @property
    def is_container(self) -> bool:
        """Return True if the line opens a container."""
        return bool(self.children) or self.name in CONTAINERS


@dataclass(frozen=True, slots=True)
class AccessLayer:
    """The lines about access of one section or file.

    Attributes:
        kind: the section that holds the lines (HTACCESS for a .htaccess file, SERVER outside of all); a
            nested section is a layer itself.
        in_htaccess: an error fails requests, not the start; sections inside a .htaccess file have it too.
    """

    lines: tuple[AccessLine, ...]
    kind: SectionKind = SectionKind.DIRECTORY
    in_htaccess: bool = False
    place: SourceLocation | None = field(default=None, compare=False)


@lru_cache(maxsize=MAX_NAMES)
def is_access_directive(name: str) -> bool:
    """Return True if a directive of this name (any case, without ``<``) is about access."""
    low = name.lower()
    return low in _WORDS or low in CONTAINERS or low in SSL_CONDITIONS or _FAMILIES.fullmatch(low) is not None


def is_access_line(name: str, args: str) -> bool:
    """Return True if a line with these arguments is about access.

    Beside `is_access_directive` that is an SSLOptions that sets or resets StrictRequire.
    """
    return is_access_directive(name) or (name.lower() == "ssloptions" and _is_about_strictness(args))


def _is_about_strictness(args: str) -> bool:
    """Return True if the arguments of SSLOptions name StrictRequire, or have a word without sign, which
    resets all others."""
    words = args.lower().replace('"', "").split()
    return any(word[0] not in "+-" or word[1:] == "strictrequire" for word in words)


def lines_of_nodes(nodes: Iterable[directives.Node]) -> tuple[AccessLine, ...]:
    """Return the relevant lines of *nodes*; raises ConfigError if a container lacks its ``>``."""
    return tuple(_lines(_of_nodes(nodes)))


def lines_of_tree(
    nodes: Iterable[tree.Node], path: str, expand: Callable[[str], str] = lambda text: text
) -> tuple[AccessLine, ...]:
    """Return the relevant lines of the nodes of the file at *path*; *expand* replaces ``${NAME}``.

    Raises the same exceptions as `lines_of_nodes`.
    """
    return tuple(_lines(_of_tree(nodes, path, expand)))


@dataclass(frozen=True, slots=True)
class _RawDirective:
    """A directive of either tree; the *args* of a container still end in ``>``."""

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
        elif not directive.is_container and is_access_line(low, directive.args):
            yield AccessLine(low, directive.args, directive.place)
