"""Binary decision diagrams of the package `dd`, with a manager whose parts may be garbage-collected in any
order."""

from __future__ import annotations

from dd import autoref, bdd


class _Manager(bdd.BDD):  # type: ignore[misc, unused-ignore]
    def __del__(self) -> None:
        """Skip the check of the base class, which logs nodes that are collected after the manager."""


class Bdd(autoref.BDD):
    """A manager of diagrams that keeps its variables in the order of their declaration."""

    def __init__(self) -> None:
        self._bdd = _Manager()  # type: ignore[abstract]
        self.vars = self._bdd.vars
        self.configure(reordering=False)
