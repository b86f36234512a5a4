"""Cache of the decisions of chains under both versions.

Key: the version and the layers of the chain without the lines that a later layer replaces. Value: the
decision, None if the server does not start or the decision is unknown. Validity: the lifetime of the solver;
nothing is evicted.

In both versions the Order, Allow and Deny of a section replace those of outer sections as a whole, and so do
its Require lines. Satisfy is merged separately in 2.2, and with Order, Allow and Deny in 2.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from whimbrel.access.atoms import Opaque
from whimbrel.access.decide import AccessEnvironment, decide
from whimbrel.access.decision import AccessDecision, AccessVerdict, Counterexample, Undecided
from whimbrel.access.environment import BrokenHtaccess
from whimbrel.access.layers import AccessLayer, AccessLine
from whimbrel.access.space import Space
from whimbrel.base.dialect import V22, V24, Dialect
from whimbrel.base.errors import ConfigError
from whimbrel.config.model import SectionKind
from whimbrel.upgrade.access_control.effective import RECORD

Lines = tuple[AccessLine, ...]
_REQUIRES: Final = frozenset({"require", "requireall", "requireany", "requirenone"})
_REPLACED_TOGETHER: Final = {
    V22.name: (RECORD, frozenset({"satisfy"}), frozenset({"require"})),
    V24.name: (RECORD | {"satisfy"}, _REQUIRES),
}
"""The directives that a section replaces together."""


class DecisionCache:
    """The decisions of one configuration tree, with the access environment of each version.

    *others*: 2.2 with its modules in other orders, each with the name of its version.
    """

    def __init__(
        self,
        environment_22: AccessEnvironment,
        environment_24: AccessEnvironment,
        others: Mapping[str, AccessEnvironment] | None = None,
    ) -> None:
        self.space = Space()
        self._others = others or {}
        self.environment_22 = environment_22
        self.environment_24 = environment_24
        self._layers: dict[tuple[SectionKind, bool, Lines], AccessLayer] = {}
        self._sound: dict[tuple[str, int], bool] = {}
        self._short: dict[tuple[object, ...], tuple[AccessLayer, ...]] = {}
        self._decisions: dict[tuple[object, ...], AccessDecision | None] = {}
        self._differences: dict[tuple[int, int], Counterexample | None] = {}
        self._errors = {
            name: AccessDecision(self.space, {AccessVerdict.ERROR: self.space.true}, name)
            for name in (V22.name, V24.name)
        }
        self._forbidden = {
            name: AccessDecision(self.space, {AccessVerdict.FORBIDDEN: self.space.true}, name)
            for name in (V22.name, V24.name)
        }

    def layer(self, kind: SectionKind, htaccess: bool, lines: Lines) -> AccessLayer:
        """Return the layer of these lines; equal lines share one layer."""
        key = (kind, htaccess, lines)
        layer_found = self._layers.get(key)
        if layer_found is None:
            layer_found = AccessLayer(lines, kind, htaccess)
            self._layers[key] = layer_found
        return layer_found

    def error(self, version: str) -> AccessDecision:
        """Return the decision 500 for every client."""
        return self._errors[version]

    def forbidden(self, version: str) -> AccessDecision:
        """Return the decision 403 for every client."""
        return self._forbidden[version]

    def decision(self, version: str, layers: Sequence[AccessLayer]) -> AccessDecision | None:
        """Return the decision of a chain of layers from `layer`; None if the server does not start or the
        decision is unknown."""
        key = (version, *map(id, layers))
        if key not in self._decisions:
            short = self._shortened(version, layers)
            inner = (version, *map(id, short))
            if inner not in self._decisions:
                self._decisions[inner] = self._decide(version, short)
            self._decisions[key] = self._decisions[inner]
        return self._decisions[key]

    def _decide(self, version: str, layers: Sequence[AccessLayer]) -> AccessDecision | None:
        try:
            return _with_errors(
                decide(layers, self._dialect(version), self._environment(version), self.space)
            )
        except (ConfigError, Undecided):
            return None

    def difference(self, first: AccessDecision, other: AccessDecision) -> Counterexample | None:
        """Return a client that two decisions of this cache treat differently."""
        key = (id(first), id(other))
        if key not in self._differences:
            self._differences[key] = first.difference(other)
        return self._differences[key]

    def is_unreadable_22(self, layer: AccessLayer) -> bool:
        """Return True if 2.2 cannot read a .htaccess file with these lines."""
        try:
            self.environment_22.settings(V22).merge((layer,))
        except BrokenHtaccess:
            return True
        except ConfigError:
            return False
        return False

    # what decides nothing ---------------------------------------------------------------------------
    def _shortened(self, version: str, layers: Sequence[AccessLayer]) -> tuple[AccessLayer, ...]:
        """Return *layers* without the lines that later ones replace; unchanged if one of them has
        an error."""
        if not all(self._is_sound(version, layer) for layer in layers):
            return tuple(layers)
        groups = _REPLACED_TOGETHER[self._dialect(version).name]
        if any(line.name == "authmerging" for layer in layers for line in layer.lines):
            groups = groups[:1]
        replaced: set[str] = set()
        shortened: list[AccessLayer] = []
        for layer in reversed(layers):
            left = tuple(line for line in layer.lines if line.name not in replaced)
            left_names = {line.name for line in left}
            for names in groups:
                if left_names & names:
                    replaced |= names
            if len(left) < len(layer.lines):
                layer = self.layer(layer.kind, layer.in_htaccess, left)
            if left:
                shortened.append(layer)
        return tuple(reversed(shortened))

    def _is_sound(self, version: str, layer: AccessLayer) -> bool:
        key = (version, id(layer))
        if key not in self._sound:
            try:
                self._environment(version).settings(self._dialect(version)).merge((layer,))
                self._sound[key] = True
            except (BrokenHtaccess, ConfigError):
                self._sound[key] = False
        return self._sound[key]

    def _dialect(self, version: str) -> Dialect:
        return V24 if version == V24.name else V22

    def _environment(self, version: str) -> AccessEnvironment:
        if version in self._others:
            return self._others[version]
        return self.environment_22 if version == V22.name else self.environment_24


def _with_errors(decision: AccessDecision) -> AccessDecision:
    """Return *decision* with the alias of `native.ERROR_500` evaluated: 500 for the clients that it alone
    would admit."""
    mark = next(
        (
            atom
            for atom in decision.atoms()
            if isinstance(atom, Opaque) and "/internal-server-error" in atom.text
        ),
        None,
    )
    if mark is None:
        return decision
    space = decision.space
    off = {verdict: space.fixed(function, {mark: False}) for verdict, function in decision.when.items()}
    wrong = (
        space.fixed(decision.when[AccessVerdict.GRANTED], {mark: True}) & ~off[AccessVerdict.GRANTED]
        if mark.user
        else space.false
    )
    when = {verdict: function & ~wrong for verdict, function in off.items()}
    when[AccessVerdict.ERROR] = when[AccessVerdict.ERROR] | wrong
    return _with_errors(AccessDecision(space, when, decision.name))
