"""Variables of access decisions in which conditions with patterns of one language are one condition."""

from __future__ import annotations

import re
from typing import Final

from whimbrel.access.atoms import Atom, Opaque
from whimbrel.access.space import Function, Space
from whimbrel.verify.patterns.languages import Relation, compare_patterns
from whimbrel.verify.patterns.uses import PatternUse, uses_of_expression

_MAX_OF_SHAPE: Final = 50
"""Conditions of one shape that a further one is compared with."""
_HAS_GROUP: Final = re.compile(r"\$[0-9]")


class PatternSpace(Space):
    """A space in which conditions that differ in the text of equal patterns alone share a variable."""

    def __init__(self) -> None:
        super().__init__()
        self._shapes: dict[tuple[str, bool, tuple[str, ...]], list[tuple[list[PatternUse], Atom]]] = {}

    def variable(self, atom: Atom) -> Function:
        """Return the variable of *atom*, or of an equal condition that is known."""
        if isinstance(atom, Opaque) and atom not in self._variables and not _HAS_GROUP.search(atom.text):
            equal = self._equal(atom)
            if equal is not None:
                self._variables[atom] = self._variables[equal]
        return super().variable(atom)

    def _equal(self, atom: Opaque) -> Atom | None:
        uses = list(uses_of_expression(atom.text))
        if not uses:
            return None
        key = (uses[0].rest[0], atom.user, tuple(use.subject for use in uses))
        others = self._shapes.setdefault(key, [])
        for known, equal in others:
            pairs = zip(uses, known, strict=True) if len(uses) == len(known) else ()
            relations = [compare_patterns(one.pattern, other.pattern).relation for one, other in pairs]
            if relations and all(relation is Relation.EQUAL for relation in relations):
                return equal
        if len(others) < _MAX_OF_SHAPE:
            others.append((uses, atom))
        return None
