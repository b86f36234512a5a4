"""Binary decision diagrams by the package `dd`, with a manager that goes away silently, in whatever order its parts are collected."""

from __future__ import annotations

from dd import autoref, bdd


class _Manager(bdd.BDD):  # type: ignore[misc, unused-ignore]
    def __del__(self) -> None:
        """The original complains of nodes that are collected after it."""


class Bdd(autoref.BDD):
    """A manager of diagrams that keeps its variables in the order in which they were declared."""

    def __init__(self) -> None:
        self._bdd = _Manager()  # type: ignore[abstract]
        self.vars = self._bdd.vars
        self.configure(reordering=False)
