"""C37: SCGI programs get no PATH_INFO unless proxy-scgi-pathinfo is set.

Document: documents/C37-scgi-path-info.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.upgrade.edits.helpers import insert_above
from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree, Role, Statement
from whimbrel.upgrade.source.queries import BRANCH_SECTIONS, has_same_scope, lines_for_24, server_of

WANTED: Final = "SetEnvIf Request_URI ^ proxy-scgi-pathinfo=1"
VARIABLE: Final = "proxy-scgi-pathinfo"
SETTERS: Final = ("setenvif", "setenvifnocase", "browsermatch", "browsermatchnocase")


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the first line of each server that forwards requests to an SCGI program."""
    done: list[Statement] = []
    setters = [line for line in lines_for_24(tree, *SETTERS) if VARIABLE in line.args]
    for line in tree.named("proxypass", "proxypassmatch", "balancermember", "rewriterule"):
        if not any("scgi://" in word.lower() for word in line.words()):
            continue
        top = _top(line)
        if any(_serves(other, top) for other in (*done, *setters)):
            continue
        done.append(top)
        unknown = line.file.role is Role.FRAGMENT
        yield Finding(
            "C37",
            line.place,
            "SCGI programs get the whole path as SCRIPT_NAME and no PATH_INFO",
            f"write {WANTED}, which restores the variables of 2.2",
            Risk.CHANGES,
            Safety.REVIEW if unknown else Safety.SAFE,
            insert_above(tree, top, [WANTED]),
        )


def _top(line: Statement) -> Statement:
    """Return the line, or the section for directories around it: SetEnvIf belongs beside that."""
    top = line
    for section in line.enclosing():
        if section.name == "<virtualhost":
            break
        if section.name not in BRANCH_SECTIONS:
            top = section
    return top


def _serves(setter: Statement, line: Statement) -> bool:
    """Return True if a variable set beside *setter* is set for the requests of *line*."""
    if setter.file.role is Role.HTACCESS:
        return has_same_scope(setter, line)
    return server_of(setter) in (server_of(line), None)


RULE = Rule("C37", "scgi-path-info", "SCGI programs get no PATH_INFO", check)
