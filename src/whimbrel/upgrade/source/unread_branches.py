"""Branches of a configuration tree that neither version reads, whatever the command line defines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from whimbrel.config.skipped_branches import SkippedBranch

if TYPE_CHECKING:
    from whimbrel.upgrade.source.config_tree import Statement

_BRANCHES: Final = frozenset({"<ifmodule", "<ifdefine", "<ifversion"})


def unread_branches(statements: Iterable[Statement]) -> Iterator[SkippedBranch]:
    """Yield the outermost of the branches among *statements*, which are those of a whole server."""
    for statement in statements:
        if statement.name in _BRANCHES and statement.taken == (False, False):
            inner = list(_all(statement.children))
            yield SkippedBranch(
                statement.place,
                f"<{statement.node.name} {statement.args.strip()}>",
                tuple(_name(one) for one in inner if one.name == "<virtualhost"),
                tuple(one.args.strip() for one in inner if one.name in ("include", "includeoptional")),
            )
        elif statement.in_22 is not False or statement.in_24 is not False:
            yield from unread_branches(statement.children)


def _all(statements: Iterable[Statement]) -> Iterator[Statement]:
    for statement in statements:
        yield statement
        yield from _all(statement.children)


def _name(host: Statement) -> str:
    """Return the name of a virtual host, its addresses if it has none."""
    names = (one.args.strip() for one in host.children if one.name == "servername")
    return next(names, host.args.strip())
