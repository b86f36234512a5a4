"""What chains of sections decide under both versions, remembered by meaning: chains that differ only in lines that a later section replaces are one.

In both versions Order, Allow and Deny of a section replace those of the sections around it as a whole, and so do its Require lines; Satisfy goes by
itself in 2.2 and with Order, Allow and Deny in 2.4.  What is replaced decides nothing, so it is left out before anything is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from whimbrel.access.atoms import Opaque
from whimbrel.access.decide import World, decide
from whimbrel.access.decision import Counterexample, Decision, Space, Undecided, Verdict
from whimbrel.access.layers import Layer, Line
from whimbrel.access.merged import Broken
from whimbrel.config.model import SectionKind
from whimbrel.dialect import V22, V24, Dialect
from whimbrel.errors import ConfigError
from whimbrel.upgrade.access_control.states import RECORD

Lines = tuple[Line, ...]
_REQUIRES: Final = frozenset({"require", "requireall", "requireany", "requirenone"})
_WHOLE: Final = {V22.name: (RECORD, frozenset({"satisfy"}), frozenset({"require"})), V24.name: (RECORD | {"satisfy"}, _REQUIRES)}
"""The directives that one section replaces together."""


class Decisions:
    """The decisions of one estate; *old* and *new* are the worlds of both versions."""

    def __init__(self, old: World, new: World) -> None:
        self.space, self.old, self.new = Space(), old, new
        self._layers: dict[tuple[SectionKind, bool, Lines], Layer] = {}
        self._sound: dict[tuple[str, int], bool] = {}
        self._short: dict[tuple[object, ...], tuple[Layer, ...]] = {}
        self._known: dict[tuple[object, ...], Decision | None] = {}
        self._differences: dict[tuple[int, int], Counterexample | None] = {}
        self._errors = {name: Decision(self.space, {Verdict.ERROR: self.space.true}, name) for name in (V22.name, V24.name)}
        self._forbidden = {name: Decision(self.space, {Verdict.FORBIDDEN: self.space.true}, name) for name in (V22.name, V24.name)}

    def layer(self, kind: SectionKind, htaccess: bool, lines: Lines) -> Layer:
        """The one layer of these lines."""
        key = (kind, htaccess, lines)
        found = self._layers.get(key)
        if found is None:
            found = self._layers[key] = Layer(lines, kind, htaccess)
        return found

    def error(self, version: str) -> Decision:
        """500 for everybody."""
        return self._errors[version]

    def forbidden(self, version: str) -> Decision:
        """403 for everybody."""
        return self._forbidden[version]

    def decided(self, version: str, layers: Sequence[Layer]) -> Decision | None:
        """What a chain of layers that `layer` has made decides; None where the server doesn't start or nothing can be said."""
        key = (version, *map(id, layers))
        if key not in self._known:
            short = self._shortened(version, layers)
            inner = (version, *map(id, short))
            if inner not in self._known:
                self._known[inner] = self._asked(version, short)
            self._known[key] = self._known[inner]
        return self._known[key]

    def _asked(self, version: str, layers: Sequence[Layer]) -> Decision | None:
        try:
            return _with_errors(decide(layers, self._dialect(version), self._world(version), self.space))
        except (ConfigError, Undecided):
            return None

    def difference(self, one: Decision, other: Decision) -> Counterexample | None:
        """A client whom they treat differently; both must come from here."""
        key = (id(one), id(other))
        if key not in self._differences:
            self._differences[key] = one.difference(other)
        return self._differences[key]

    def fails_alone(self, layer: Layer) -> bool:
        """Whether 2.2 can't read a .htaccess file with these lines."""
        try:
            self.old.settings(V22).merged((layer,))
        except Broken:
            return True
        except ConfigError:
            return False
        return False

    # what decides nothing ---------------------------------------------------------------------------
    def _shortened(self, version: str, layers: Sequence[Layer]) -> tuple[Layer, ...]:
        """*layers* without the lines that later ones replace; as they are where one can't be read."""
        if not all(self._is_sound(version, layer) for layer in layers):
            return tuple(layers)
        groups = _WHOLE[version]
        if any(line.name == "authmerging" for layer in layers for line in layer.lines):
            groups = groups[:1]
        replaced: set[str] = set()
        found: list[Layer] = []
        for layer in reversed(layers):
            left = tuple(line for line in layer.lines if line.name not in replaced)
            said = {line.name for line in left}
            for names in groups:
                if said & names:
                    replaced |= names
            if len(left) < len(layer.lines):
                layer = self.layer(layer.kind, layer.htaccess, left)
            if left:
                found.append(layer)
        return tuple(reversed(found))

    def _is_sound(self, version: str, layer: Layer) -> bool:
        key = (version, id(layer))
        if key not in self._sound:
            try:
                self._world(version).settings(self._dialect(version)).merged((layer,))
                self._sound[key] = True
            except (Broken, ConfigError):
                self._sound[key] = False
        return self._sound[key]

    def _dialect(self, version: str) -> Dialect:
        return V22 if version == V22.name else V24

    def _world(self, version: str) -> World:
        return self.old if version == V22.name else self.new


def _with_errors(decision: Decision) -> Decision:
    """*decision* where the expression that can't be evaluated is what it is: 500 for those whom it alone would let in."""
    mark = next((atom for atom in decision.atoms() if isinstance(atom, Opaque) and "/internal-server-error" in atom.text), None)
    if mark is None:
        return decision
    space = decision.space
    off = {verdict: space.fixed(function, {mark: False}) for verdict, function in decision.when.items()}
    wrong = space.fixed(decision.when[Verdict.GRANTED], {mark: True}) & ~off[Verdict.GRANTED] if mark.user else space.false
    when = {verdict: function & ~wrong for verdict, function in off.items()}
    when[Verdict.ERROR] = when[Verdict.ERROR] | wrong
    return _with_errors(Decision(space, when, decision.name))
