"""Branches of the text for an MPM that 2.4 will not have.

The MPM of 2.2 is compiled in, so that its branches are open in a text that loads none. C05 writes the
LoadModule line of one, which decides about them.
"""

from __future__ import annotations

from whimbrel.catalogue import catalogue
from whimbrel.upgrade.edits.load_module import load_module_lines
from whimbrel.upgrade.files.needed_modules import needed_modules
from whimbrel.upgrade.source.branches import MPMS
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement


def is_of_other_mpm(tree: ConfigTree, line: Statement) -> bool:
    """Return True if *line* stands in a branch for another MPM than the one that upgrade loads; False if it
    loads none, or one for a 2.4 that has none compiled in alone."""
    rows = catalogue("2.4")
    needed = [row for need in needed_modules(tree) if (row := rows.module(need.identifier)) is not None]
    mpm = next((row for row in needed if row.kind == "mpm"), None)
    if mpm is None or load_module_lines(tree).may_have_mpm():
        return False
    for section in line.enclosing("<ifmodule"):
        name = "".join(section.words()[:1])
        is_negated = name.startswith("!")
        name = name.removeprefix("!").lower()
        if name in MPMS and (name in (mpm.identifier, mpm.source)) is is_negated:
            return True
    return False
