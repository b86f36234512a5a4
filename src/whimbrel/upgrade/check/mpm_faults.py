"""Servers that 2.4 refuses for its MPM: none is loaded under the given conditions, or more than one is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.base.layouts import UPSTREAM
from whimbrel.catalogue import catalogue
from whimbrel.config.configuration import Configuration
from whimbrel.upgrade.edits.load_module import UNIX_MPMS
from whimbrel.upgrade.model import LOAD_ERROR, Finding, Risk
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement
from whimbrel.upgrade.source.queries import lines_for_24

_REFUSED: Final = "2.4 does not start: AH00534: Configuration error:"
NO_MPM: Final = "No MPM loaded."
_SEVERAL: Final = "More than one MPM loaded."


def mpm_fault(tree: ConfigTree, problem: str) -> Finding | None:
    """Return the finding about the refusal *problem* of the whole server.

    None if it is not about an MPM, or if no line of the text is its cause.
    """
    if NO_MPM in problem:
        return _none(tree)
    return _several(tree) if _SEVERAL in problem else None


def missing_mpm(tree: ConfigTree, configuration: Configuration) -> Iterator[Finding]:
    """Yield a finding if MPMs are loaded in branches alone, and *configuration*, the result, has read none.

    A text that loads an MPM anywhere is for a binary without one. A text without such a line may be for a
    binary that has one compiled in.
    """
    loaded = {name for name, _ in configuration.loaded_by_directive}
    if any(map(_is_guarded, _mpm_lines(tree))):
        return
    if configuration.build.name == UPSTREAM and not loaded & _identifiers():
        found = _none(tree)
        if found is not None:
            yield found


def _is_guarded(line: Statement) -> bool:
    """Return True if *line* loads its MPM unless one is compiled in."""
    tests = [section.args.strip() for section in line.enclosing()]
    return bool(tests) and {f"!{name}" for name in UNIX_MPMS} <= set(tests)


def _none(tree: ConfigTree) -> Finding | None:
    line = next(_mpm_lines(tree), None)
    if line is None:
        return None
    branch = next(line.enclosing(), None)
    condition = (
        f"<{branch.node.name.lstrip('<')} {branch.args.strip()}>" if branch is not None else "branches"
    )
    return Finding(
        LOAD_ERROR,
        line.place,
        f"{_REFUSED} {NO_MPM} {condition} is not read with the given names (-D)",
        f"give the names of the server by -D, or write `{_text(line)}` outside of {condition}",
        Risk.BREAKS,
    )


def _several(tree: ConfigTree) -> Finding | None:
    """Return the finding about the second MPM; None if conditions hide which lines are read."""
    lines = list(_mpm_lines(tree))
    certain = [line for line in lines if line.in_24]
    lines = certain if len(certain) > 1 else lines
    if len(certain) < 2 and len(lines) != 2:
        return None
    first, second = (line.place for line in lines[:2])
    place = f"in line {first.line}" if first.path == second.path else f"at {first}"
    return Finding(
        LOAD_ERROR,
        second,
        f"{_REFUSED} {_SEVERAL} `{_text(lines[0])}` is {place}",
        "keep one of these lines",
        Risk.BREAKS,
    )


def _mpm_lines(tree: ConfigTree) -> Iterator[Statement]:
    known = _identifiers()
    return (line for line in lines_for_24(tree, "loadmodule") if "".join(line.words()[:1]) in known)


def _identifiers() -> frozenset[str]:
    return frozenset(row.identifier for row in catalogue("2.4").modules if row.kind == "mpm")


def _text(line: Statement) -> str:
    return f"LoadModule {line.args.strip()}"
