"""The notice above an answer of 2.4 to a text of 2.2: which version answers, why, and how to choose."""

from __future__ import annotations

import os
from http import HTTPStatus
from typing import Final

from whimbrel.base.dialect import V22
from whimbrel.base.errors import SourceLocation
from whimbrel.catalogue import catalogue
from whimbrel.config.detected_build import main_text
from whimbrel.config.origins import Origin
from whimbrel.explain.source_lines import SourceLines
from whimbrel.explain.step import RequestExplanation
from whimbrel.explain.text import place_of
from whimbrel.syntax.lines import V22_LINES
from whimbrel.syntax.tree import Directive, parse
from whimbrel.upgrade.source.access_compat import DIRECTIVES
from whimbrel.verify.side import Side

_COMPAT: Final = "access_compat_module"
_OF_22: Final = frozenset((*DIRECTIVES, "namevirtualhost"))
"""Directives that 2.4 still reads, and that no text written for it has."""
_OF_24: Final = frozenset(("<requireall", "<requireany", "<requirenone", "includeoptional", "mutex"))
"""Directives of 2.4 that stand in many texts; those of an MPM may be of 2.2, too."""
_REQUIRED_24: Final = frozenset(("all", "ip", "host", "forward-dns", "local", "env", "method", "expr", "not"))
"""Words behind Require that no module of 2.2 knows."""


def version_notice(side: Side, root: str) -> str:
    """Return a line that names the version of the answer, if the text is of 2.2, or more of it is than is of
    2.4; else ""."""
    signs = _Signs(side)
    old = signs.of_22
    new = signs.of_24
    if not old or (new and len(old) <= len(new)):
        return ""
    is_22 = side.dialect is V22
    why = "as a log of 2.2 is" if is_22 else "the default"
    begin = f"answered as httpd {side.dialect.name}, {why}; the text"
    other = "2.4" if is_22 else "2.2"
    first = f"{(SourceLines().text(old[0]) or old[0].text).split(maxsplit=1)[0]} at {place_of(old[0], root)}"
    if not new:
        hint = f"; --dialect {other} answers as {other}" if side.is_loaded else ""
        return f"{begin} looks like 2.2: {first}{hint}"
    lines = f"{len(old)} lines of 2.2, first {first}, and {len(new)} of 2.4, first {new[0]}"
    return f"{begin} mixes versions: {lines}, with which no 2.2 starts"


def is_of_22(side: Side) -> bool:
    """Return True if lines of the text are of 2.2, and none is of 2.4."""
    signs = _Signs(side)
    return bool(signs.of_22) and not signs.of_24


def refused_htaccess(explanation: RequestExplanation) -> Origin | None:
    """Return the line of the .htaccess file because of which the answer is 500; None without one."""
    for step in explanation.all() if explanation.status == HTTPStatus.INTERNAL_SERVER_ERROR else ():
        if step.kind == ".htaccess" and step.result == "refused" and step.lines:
            return step.lines[0]
    return None


def has_lines_of_24(side: Side) -> bool:
    """Return True if a line of the text is of 2.4 alone: the text is for a server of 2.4."""
    return bool(_Signs(side).of_24)


class _Signs:
    """The lines of a text that show its version; of one that does not load, those of the main file alone.

    Attributes:
        of_22: lines that 2.4 does not read, or reads with mod_access_compat; beside that module and a line of
            2.4 they are meant for 2.4.
        of_24: lines that 2.2 refuses, as text.
    """

    def __init__(self, side: Side) -> None:
        self.of_22: list[Origin] = []
        self.of_24: list[str] = []
        self._is_compat = False
        side.each_node(lambda node: self._visit(node.name, node.args, node.place))
        if side.is_loaded:
            for name, _ in side.loaded.loaded_by_directive:
                self._load(name)
        else:
            path = os.path.join(side.options.server_root, side.options.file)
            for node in parse(main_text(path), V22_LINES).walk():
                if isinstance(node, Directive):
                    self._visit(node.name, node.args, SourceLocation(path, node.number))
        if self.of_24 and self._is_compat:
            self.of_22 = [sign for sign in self.of_22 if sign.text.lower() not in DIRECTIVES]

    def _visit(self, name: str, args: str, place: SourceLocation) -> None:
        if name.lower() == "loadmodule":
            self._load("".join(args.lower().split()[:1]))
        elif _is_of_24(name, args):
            self.of_24.append(f"{name} {args}".strip())
        elif _is_of_22(name):
            self.of_22.append(Origin(place, name))

    def _load(self, module: str) -> None:
        self._is_compat |= module == _COMPAT
        if _loads_module_of_24(module):
            self.of_24.append(f"LoadModule {module}")


def _loads_module_of_24(name: str) -> bool:
    """Return True for a module that 2.2 cannot load: a new one, or an MPM, which 2.2 has compiled in. One
    that is there for texts of 2.2 says nothing."""
    if name == _COMPAT:
        return False
    of_24 = catalogue("2.4").module(name)
    return of_24 is not None and (name.startswith("mpm_") or catalogue("2.2").module(name) is None)


def _is_of_24(name: str, args: str) -> bool:
    """Return True for a line that 2.2 refuses and 2.4 reads."""
    low = name.lower()
    if low == "require":
        return "".join(args.lower().split()[:1]) in _REQUIRED_24
    return low in _OF_24


def _is_of_22(name: str) -> bool:
    low = name.lower()
    return low in _OF_22 or (bool(catalogue("2.2").find(low)) and not catalogue("2.4").find(low))
