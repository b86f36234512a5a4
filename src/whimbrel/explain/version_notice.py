"""The notice above an answer of 2.4 to a text of 2.2: which version answers, why, and how to choose."""

from __future__ import annotations

import os
from typing import Final

from whimbrel.base.errors import SourceLocation
from whimbrel.catalogue import catalogue
from whimbrel.config.detected_build import main_text
from whimbrel.config.origins import Origin
from whimbrel.directives.node import Node
from whimbrel.explain.source_lines import SourceLines
from whimbrel.explain.text import place_of
from whimbrel.syntax.lines import V22_LINES
from whimbrel.syntax.tree import Directive, parse
from whimbrel.upgrade.source.access_compat import DIRECTIVES
from whimbrel.verify.side import Side

_OF_22: Final = frozenset((*DIRECTIVES, "namevirtualhost"))
"""Directives that 2.4 still reads, and that no text written for it has."""


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
    """Return the first line that shows 2.2; of a text that does not load, in the main file alone."""
    found: list[Origin] = []

    def visit(node: Node) -> None:
        if not found and _is_of_22(node.name):
            found.append(Origin(node.place, node.name))

    side.each_node(visit)
    if side.is_loaded:
        return found[0] if found else None
    path = os.path.join(side.options.server_root, side.options.file)
    for node in parse(main_text(path), V22_LINES).walk():
        if isinstance(node, Directive) and _is_of_22(node.name):
            return Origin(SourceLocation(path, node.number), node.name)
    return None


def _is_of_22(name: str) -> bool:
    low = name.lower()
    return low in _OF_22 or (bool(catalogue("2.2").find(low)) and not catalogue("2.4").find(low))
