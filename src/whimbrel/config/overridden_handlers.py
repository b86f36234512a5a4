"""Handlers of file name extensions that a SetHandler replaces wherever they apply."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from whimbrel.base.fnmatch import compile_fnmatch
from whimbrel.base.regex import RegexError, compile_regex
from whimbrel.base.static_typing import Final
from whimbrel.directives.node import Node
from whimbrel.directives.tokens import words

_FILES: Final = ("<files", "<filesmatch")
# Containers whose contents belong to the section around them.
_TRANSPARENT: Final = frozenset(
    ("<ifmodule", "<ifdefine", "<ifversion", "<iffile", "<ifdirective", "<ifsection", "<macro")
)
Section = tuple[str, str]


def overridden(handlers: Sequence[tuple[Node, str]], is_run: Callable[[str], bool]) -> frozenset[int]:
    """Return the identities of the AddHandler and AddType lines of *handlers* without an effect.

    Each of their extensions has a SetHandler whose handler *is_run*, for all files or those of a <Files>
    section, around the line or in the same section.
    """
    setters = [
        _sections(node) for node, name in handlers if node.name.lower() == "sethandler" and is_run(name)
    ]
    found = set()
    for node, _name in handlers if setters else ():
        if node.name.lower() in ("addhandler", "addtype"):
            around = frozenset(_sections(node))
            extensions = [word.removeprefix(".") for word in words(node.args)[1:]]
            if all(any(_replaces(each, around, extension) for each in setters) for extension in extensions):
                found.add(id(node))
    return frozenset(found)


def _sections(node: Node) -> list[Section]:
    """Return name and argument of the sections around *node*, innermost first."""
    return [
        (outer.name.lower(), outer.args)
        for outer in node.enclosing()
        if outer.name.lower() not in _TRANSPARENT
    ]


def _replaces(setter: list[Section], around: frozenset[Section], extension: str) -> bool:
    """Return True if a SetHandler in the sections *setter* applies to files with *extension* in *around*."""
    if around.issuperset(setter):
        return True
    (name, args) = setter[0]
    outer = setter[1:]
    return name in _FILES and around.issuperset(outer) and _matches(name, args, f"x.{extension}")


def _matches(name: str, args: str, file: str) -> bool:
    given = words(args.rpartition(">")[0])
    is_pattern = name == "<filesmatch" or (len(given) == 2 and given[0] == "~")
    if not given:
        return False
    try:
        pattern = compile_regex(given[-1]) if is_pattern else compile_fnmatch(given[-1])
    except RegexError:
        return False
    return pattern.search(file) is not None
