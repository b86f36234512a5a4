"""A section that keeps mod_access_compat: Order, Allow and Deny stay, and what 2.4 would forget or take otherwise is said again.

2.4 replaces the record of Order, Allow, Deny and Satisfy as a whole where 2.2 merged Satisfy by itself; it lets everybody in where Satisfy Any
meets no Require; and its Require lines are alternatives whatever module owns them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from whimbrel.access.layers import Line
from whimbrel.upgrade.access_control.native import Surroundings, by_method, users
from whimbrel.upgrade.access_control.states import OTHERS, RECORD, Rules, merged, says
from whimbrel.upgrade.access_control.trees import DENIED, GRANTED, Tree

Lines = tuple[Line, ...]


def forms(chain: Sequence[Lines], around: Surroundings) -> Iterator[Lines]:
    """Proposals for the section that ends *chain*, those nearest to its own text first."""
    own = chain[-1]
    state = merged(chain)
    records = list(dict.fromkeys([only(own, RECORD), *(only(lines, RECORD) for lines in reversed(chain[:-1]) if says(lines, RECORD)), ()]))
    satisfied = list(dict.fromkeys([only(own, {"satisfy"}), _satisfy(state), ()]))
    required = list(dict.fromkeys([only(own, {"require"}), *_require(state, own, around)]))
    for record in records[:2] + records[-1:]:
        for satisfy in satisfied:
            for require in required:
                yield (*record, *satisfy, *require)


def only(lines: Lines, names: frozenset[str] | set[str]) -> Lines:
    """The lines called *names*, those in containers with their containers."""
    found = []
    for line in lines:
        if line.name in ("limit", "limitexcept"):
            inner = only(line.children, names)
            if inner:
                found.append(Line(line.name, line.args, line.place, inner))
        elif line.name in names:
            found.append(line)
    return tuple(found)


def _satisfy(state: dict[str, Rules]) -> Lines:
    """Satisfy lines that say what has been merged."""
    values = {name: rules.satisfy for name, rules in state.items()}
    found: list[Line] = []
    general = values[OTHERS]
    if general:
        found.append(Line("satisfy", general.capitalize()))
    for name, value in values.items():
        if name != OTHERS and value != general and (value or general == "any"):
            found.append(Line("limit", name, None, (Line("satisfy", (value or "all").capitalize()),)))
    return tuple(found)


def _require(state: dict[str, Rules], own: Lines, around: Surroundings) -> Iterator[Lines]:
    if not says(own, {"require"}):
        yield ()
    steps = max(len(_choices(rules, around)) for rules in state.values())
    for step in range(steps):
        trees = {name: _at(_choices(rules, around), step) for name, rules in state.items()}
        yield from by_method(trees)


def _choices(rules: Rules, around: Surroundings) -> list[Tree]:
    if rules.requires:
        return list(users(rules.requires, around))
    return [DENIED if rules.satisfy == "any" else GRANTED]


def _at(choices: list[Tree], step: int) -> Tree:
    return choices[min(step, len(choices) - 1)]
