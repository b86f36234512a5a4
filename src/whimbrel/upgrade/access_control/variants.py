"""Variants: sections under each combination of open conditions.

A section whose text or surroundings depend on a condition is solved once for each combination of values. Each
variant is a section with the lines that 2.2 reads under these values. The replacements of the variants are
joined to one text, with conditions around the lines that differ.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from whimbrel.access.layers import AccessLine
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.upgrade.access_control.replacement import Lines, Repetition, Replacement
from whimbrel.upgrade.access_control.sections import AccessSection, Chain
from whimbrel.upgrade.source.conditions import MAX_CONDITIONS, Condition, Literal

Key = tuple[tuple[Condition, bool], ...]


class Variants:
    """The variants of all sections.

    Attributes:
        base: the section behind each variant; a section without conditions is its own variant.
        of: the variants of each section by the values of its conditions.
        units: all variants, in the order of their sections.
        chains: the chains of variants.
    """

    def __init__(
        self,
        units: Sequence[AccessSection],
        chains: Sequence[Chain],
        split: Collection[AccessSection] = (),
    ) -> None:
        """Build the variants; the sections in *split* may have a replacement for each combination of the
        conditions around them."""
        self._depends = _dependencies(units, chains, split)
        self.base: dict[AccessSection, AccessSection] = {}
        self.of: dict[AccessSection, dict[Key, AccessSection]] = {}
        self.units: list[AccessSection] = []
        for unit in units:
            for key in _keys(self._depends[unit]):
                if all(literal.holds(dict(key)) for literal in unit.conditions):
                    self.units.append(self._variant(unit, key))
        self.chains = _distinct(chain for one in chains for chain in self._chains(one))

    def is_plain(self, unit: AccessSection) -> bool:
        """Return True if the section depends on no condition."""
        return not self._depends[unit]

    def conditions(self, unit: AccessSection) -> tuple[Condition, ...]:
        """Return the conditions that the section depends on, those of its own text first."""
        return tuple(dict.fromkeys([*unit.choices, *self._depends[unit]]))

    def _variant(self, unit: AccessSection, key: Key) -> AccessSection:
        known = self.of.setdefault(unit, {})
        if key not in known:
            if not key:
                known[key] = unit
            else:
                outer = (
                    unit.outer
                    if unit.outer is None
                    else self._variant(unit.outer, self._restricted(unit.outer, dict(key)))
                )
                known[key] = replace(unit, outer=outer, _access_lines=unit.lines_under(dict(key)))
            self.base[known[key]] = unit
        return known[key]

    def _restricted(self, unit: AccessSection, values: dict[Condition, bool]) -> Key:
        return tuple((condition, values[condition]) for condition in self._depends.get(unit, ()))

    def _chains(self, chain: Chain) -> Iterator[Chain]:
        """Yield the chain for each combination of the conditions that its sections depend on."""
        # a .htaccess file is read where it gives the chain no lines too, or where 2.4 alone reads its lines
        units_read = (*chain.sections, *(unit for unit, _ in chain.overrides))
        conditions = list(
            dict.fromkeys(condition for unit in units_read for condition in self._depends.get(unit, ()))
        )
        if not conditions:
            yield chain
            return
        for key in _keys(conditions):
            values = dict(key)
            units = {
                unit: self._variant(unit, self._restricted(unit, values))
                for unit in chain.sections
                if all(literal.holds(values) for literal in unit.conditions)
            }
            overrides = tuple(
                (self._variant(unit, self._restricted(unit, values)), override)
                for unit, override in chain.overrides
            )
            speaking = tuple(variant for variant in units.values() if variant.access_lines)
            if speaking:
                yield Chain(speaking, chain.url, chain.path, chain.is_certain, overrides, _given(values))

    # back -------------------------------------------------------------------------------------------
    def joined(self, unit: AccessSection, form_of: Callable[[AccessSection], Replacement]) -> Replacement:
        """Return one replacement for the section: those of its variants, with conditions around the lines
        that differ."""
        forms = [(dict(key), form_of(variant)) for key, variant in self.of[unit].items()]
        conditions = self.conditions(unit)
        control = _tree(conditions, [(values, form.control) for values, form in forms])
        holders = dict.fromkeys(
            (self.base[repeat.holder], repeat.prefix, tuple(self.base[one] for one in repeat.without))
            for _, form in forms
            for repeat in form.repeats
        )
        repeats = []
        for holder, prefix, without in holders:
            table = [
                (values, _control_at(self.base, form, holder, prefix, without)) for values, form in forms
            ]
            repeats.append(Repetition(holder, _tree(conditions, table), prefix, without=without))
        return Replacement(control, tuple(repeats))


def _distinct(chains: Iterable[Chain]) -> list[Chain]:
    """Return one chain for each sequence of sections, certain ones first."""
    best: dict[tuple[object, object], Chain] = {}
    for chain in chains:
        known = best.get((chain.sections, chain.overrides))
        if known is None or (chain.is_certain and not known.is_certain):
            best[chain.sections, chain.overrides] = chain
    return sorted(best.values(), key=lambda chain: not chain.is_certain)


def _control_at(
    base: dict[AccessSection, AccessSection],
    form: Replacement,
    holder: AccessSection,
    prefix: str,
    without: tuple[AccessSection, ...],
) -> Lines:
    return next(
        (
            repeat.control
            for repeat in form.repeats
            if base[repeat.holder] is holder
            and repeat.prefix == prefix
            and tuple(base[one] for one in repeat.without) == without
        ),
        (),
    )


def _given(values: dict[Condition, bool]) -> str:
    return ", ".join(literal.text for literal in itertools.starmap(Literal, values.items()))


def _keys(conditions: Iterable[Condition]) -> list[Key]:
    names = tuple(conditions)
    return [
        tuple(zip(names, values, strict=True))
        for values in itertools.product((True, False), repeat=len(names))
    ]


def _tree(conditions: Sequence[Condition], table: Sequence[tuple[dict[Condition, bool], Lines]]) -> Lines:
    """Return the lines of all rows of *table*, each under its own values."""
    if not table or all(lines == table[0][1] for _, lines in table):
        return table[0][1] if table else ()
    first = conditions[0]
    rest = conditions[1:]
    found: list[AccessLine] = []
    sides = {
        value: _tree(rest, [row for row in table if row[0].get(first, value) is value])
        for value in (True, False)
    }
    if sides[True] == sides[False]:
        return sides[True]
    for value, lines in sides.items():
        if lines:
            found.append(Literal(first, value).around(lines))
    return tuple(found)


def own_conditions(units: Iterable[AccessSection]) -> dict[AccessSection, dict[Condition, None]]:
    """Return the conditions that decide whether a section is read, and which of its lines."""
    conditions = {
        unit: dict.fromkeys([*(literal.condition for literal in unit.conditions), *unit.choices])
        for unit in units
    }
    for unit in conditions:
        for outer in outer_sections(unit):
            if unit.in_htaccess:
                conditions[outer].update(conditions[unit])  # one refused line refuses the whole file
    return conditions


def crowded(units: Iterable[AccessSection], chains: Iterable[Chain]) -> frozenset[AccessSection]:
    """Return the sections of chains that depend on more conditions than `MAX_CONDITIONS`."""
    conditions = own_conditions(units)
    return frozenset(
        unit
        for chain in chains
        if len({condition for unit in chain.sections for condition in conditions[unit]}) > MAX_CONDITIONS
        for unit in chain.sections
    )


def outer_sections(unit: AccessSection) -> Iterator[AccessSection]:
    """Yield the sections around *unit*, the innermost first."""
    outer = unit.outer
    while outer is not None:
        yield outer
        outer = outer.outer


def _dependencies(
    units: Sequence[AccessSection], chains: Sequence[Chain], split: Collection[AccessSection]
) -> dict[AccessSection, tuple[Condition, ...]]:
    by_section = own_conditions(units)
    dependencies = {unit: dict(conditions) for unit, conditions in by_section.items()}
    for unit in units:
        for outer in outer_sections(unit):
            dependencies[unit].update(by_section[outer])
    for chain in chains:
        so_far: dict[Condition, None] = {}
        for unit in chain.sections:
            so_far.update(by_section[unit])
            if unit in split and len(so_far.keys() | dependencies[unit].keys()) <= MAX_CONDITIONS:
                dependencies[unit].update(so_far)
    return {unit: tuple(conditions) for unit, conditions in dependencies.items()}
