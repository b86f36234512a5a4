"""Binary decision diagrams by the package `dd`, without reordering of variables.

The parts of a manager may be garbage-collected in any order. A function computes trivial operations (with
true, with false, with itself, negation) from the number of its node: dd marks a negated node by its sign, and
1 is true.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final


@contextmanager
def _without(module: str) -> Iterator[None]:
    """Let imports within find no *module*, unless it has been imported."""
    if module in sys.modules:
        yield
        return
    sys.modules[module] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[module]


with _without("networkx"):  # dd draws graphs with it, and importing it takes long
    from dd import autoref, bdd

_TRUE: Final = 1


class _Manager(bdd.BDD):  # type: ignore[misc, unused-ignore]
    def __del__(self) -> None:
        """Skip the check of the base class, which logs nodes that are collected after the manager."""

    def ite(self, g: int, u: int, v: int) -> int:
        """See bdd.BDD.ite; variables keep their order, so that the wrapper for reordering is left out."""
        return self._ite(g, u, v)


class _Function(autoref.Function):
    """A node with its references counted."""

    def __invert__(self) -> _Function:
        return _Function(-self.node, self.bdd)

    def __and__(self, other: Any) -> Any:
        if self.node == _TRUE or other.node == -_TRUE or self.node == other.node:
            return other
        if self.node == -_TRUE or other.node == _TRUE:
            return self
        return _Function(self.manager.ite(self.node, other.node, -_TRUE), self.bdd)

    def __or__(self, other: Any) -> Any:
        if self.node == -_TRUE or other.node == _TRUE or self.node == other.node:
            return other
        if self.node == _TRUE or other.node == -_TRUE:
            return self
        return _Function(self.manager.ite(self.node, _TRUE, other.node), self.bdd)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Function) and self.node == other.node and self.bdd is other.bdd

    def __ne__(self, other: object) -> bool:
        return not (isinstance(other, _Function) and self.node == other.node and self.bdd is other.bdd)

    def __hash__(self) -> int:
        return int(self.node)


class Bdd(autoref.BDD):
    """A manager of diagrams that keeps its variables in the order of their declaration."""

    def __init__(self) -> None:
        self._bdd = _Manager()  # type: ignore[abstract]
        self.vars = self._bdd.vars
        self.configure(reordering=False)

    def _wrap(self, u: int) -> _Function:
        return _Function(u, self)
