"""The package that keeps binary decision diagrams, as this one wants it: a manager that goes away silently, in whatever order its parts are collected."""

from __future__ import annotations

from dd import autoref, bdd


class _Manager(bdd.BDD):
    def __del__(self) -> None:
        """The original complains of nodes that are collected after it."""


class Diagram(autoref.BDD):
    """A manager of diagrams that keeps its variables in the order in which they were declared."""

    def __init__(self) -> None:
        self._bdd = _Manager()
        self.vars = self._bdd.vars
        self.configure(reordering=False)
