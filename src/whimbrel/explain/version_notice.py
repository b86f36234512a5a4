"""The notice above an answer of 2.4 to a text of 2.2: which version answers, why, and how to choose."""

from __future__ import annotations

import os
from typing import Final

from whimbrel.base.errors import SourceLocation
from whimbrel.catalogue import catalogue
from whimbrel.config.detected_build import main_text
from whimbrel.config.origins import Origin
from whimbrel.explain.source_lines import SourceLines
from whimbrel.explain.text import place_of
from whimbrel.syntax.lines import V22_LINES
from whimbrel.syntax.tree import Directive, parse
from whimbrel.upgrade.source.access_compat import DIRECTIVES
from whimbrel.verify.side import Side

_OF_22: Final = frozenset((*DIRECTIVES, "namevirtualhost"))
"""Directives that 2.4 still reads, and that no text written for it has."""
_OF_24: Final = frozenset(("<requireall", "<requireany", "<requirenone", "includeoptional", "mutex"))
"""Directives of 2.4 that stand in many texts; those of an MPM may be of 2.2, too."""
_REQUIRED_24: Final = frozenset(("all", "ip", "host", "forward-dns", "local", "env", "method", "expr", "not"))
"""Words behind Require that no module of 2.2 knows."""


def version_notice(side: Side, root: str) -> str:
    """Return a line that names the version of the answer, if a line of the text is of 2.2; else ""."""
    sign = _sign(side)
    if sign is None:
        return ""
    name = (SourceLines().text(sign) or sign.text).split(maxsplit=1)[0]
    return (
        f"answered as httpd {side.dialect.name}, the default; the text looks like 2.2: {name} at "
        f"{place_of(sign, root)}; --dialect 2.2 answers as 2.2"
    )


def _sign(side: Side) -> Origin | None:
    """Return the first line that shows 2.2, None for a text that loads modules of 2.4; of a text that does
    not load, in the main file alone."""
    found: list[Origin] = []

    is_of_24 = False

    def visit(name: str, args: str, place: SourceLocation) -> None:
        nonlocal is_of_24
        is_of_24 |= _is_of_24(name, args)
        if not found and _is_of_22(name):
            found.append(Origin(place, name))

    side.each_node(lambda node: visit(node.name, node.args, node.place))
    if side.is_loaded:
        static = side.loaded.built_in
        loaded = [module for module in side.loaded.modules.modules if module.source not in static]
        is_of_24 |= any(_loads_module_of_24(module.name) for module in loaded)
    else:
        path = os.path.join(side.options.server_root, side.options.file)
        for node in parse(main_text(path), V22_LINES).walk():
            if isinstance(node, Directive):
                visit(node.name, node.args, SourceLocation(path, node.number))
    return found[0] if found and not is_of_24 else None


def _loads_module_of_24(name: str) -> bool:
    """Return True for a module that 2.2 cannot load: a new one, or an MPM, which 2.2 has compiled in. One
    that is there for texts of 2.2 says nothing."""
    if name == "access_compat_module":
        return False
    of_24 = catalogue("2.4").module(name)
    return of_24 is not None and (name.startswith("mpm_") or catalogue("2.2").module(name) is None)


def _is_of_24(name: str, args: str) -> bool:
    """Return True for a line that 2.2 refuses and 2.4 reads."""
    low = name.lower()
    words = args.lower().split() if low == "loadmodule" or low == "require" else []
    if low == "loadmodule":
        return bool(words) and _loads_module_of_24(words[0])
    if low == "require":
        return bool(words) and words[0] in _REQUIRED_24
    return low in _OF_24


def _is_of_22(name: str) -> bool:
    low = name.lower()
    return low in _OF_22 or (bool(catalogue("2.2").find(low)) and not catalogue("2.4").find(low))
