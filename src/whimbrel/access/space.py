"""The variables of access decisions: one Boolean variable of a binary decision diagram for each atom."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from whimbrel.access.atoms import Atom
from whimbrel.access.bdd import Bdd

Function = Any
"""A node of a diagram; nodes are combined by ``&``, ``|`` and ``~``."""


class Space:
    """The variables that decisions share; only decisions of one space can be compared.

    The space does not model which combinations of atoms are possible: `clients.possible` does, for the atoms
    of a difference.
    """

    def __init__(self) -> None:
        self.diagram = Bdd()
        self.true: Function = self.diagram.true
        self.false: Function = self.diagram.false
        self._atoms: dict[str, Atom] = {}
        self._variables: dict[Atom, Function] = {}

    def variable(self, atom: Atom) -> Function:
        """Return the variable of *atom*."""
        function = self._variables.get(atom)
        if function is None:
            name = f"a{len(self._atoms)}"
            self.diagram.declare(name)
            self._atoms[name] = atom
            function = self.diagram.var(name)
            self._variables[atom] = function
        return function

    def choose(self, test: Function, then: Function, other: Function) -> Function:
        """Return *then* where *test* holds, else *other*."""
        return self.diagram.ite(test, then, other)

    def atoms(self, function: Function) -> list[Atom]:
        """Return the atoms that *function* depends on, in the order of their first use."""
        return [
            self._atoms[name]
            for name in sorted(self.diagram.support(function), key=lambda name: int(name[1:]))
        ]

    def fixed(self, function: Function, values: Mapping[Atom, bool]) -> Function:
        """Return *function* with the values of some atoms fixed."""
        names = {
            self._variables[atom].var: value for atom, value in values.items() if atom in self._variables
        }
        return self.diagram.let(names, function) if names else function

    def any_of(self, functions: Iterable[Function]) -> Function:
        """Return the condition that one of *functions* holds."""
        result = self.false
        for function in sorted(functions, key=lambda node: node.level, reverse=True):
            result = function | result  # diagrams grow at their root
        return result
