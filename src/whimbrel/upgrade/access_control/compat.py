"""Proposals that keep mod_access_compat: Order, Allow and Deny stay, and settings that 2.4 merges differently
are repeated.

2.4 replaces Order, Allow, Deny and Satisfy as one record, while 2.2 merged Satisfy separately. It admits
every client if Satisfy Any has no Require beside it. Its Require lines are alternatives, whatever module owns
them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from whimbrel.access.layers import AccessLine
from whimbrel.upgrade.access_control.effective import (
    OTHER_METHODS,
    RECORD,
    EffectiveRules,
    has_directive,
    merge_effective,
)
from whimbrel.upgrade.access_control.native import AuthzContext, by_method, user_choices
from whimbrel.upgrade.access_control.trees import DENIED, GRANTED, RequireTree

Lines = tuple[AccessLine, ...]


def propose(chain: Sequence[Lines], authz_context: AuthzContext) -> Iterator[Lines]:
    """Yield proposals for the last section of *chain*, those closest to its own text first."""
    own_lines = chain[-1]
    state = merge_effective(chain)
    records = list(
        dict.fromkeys(
            [
                select_lines(own_lines, RECORD),
                *(
                    select_lines(lines, RECORD)
                    for lines in reversed(chain[:-1])
                    if has_directive(lines, RECORD)
                ),
                (),
            ]
        )
    )
    satisfied = list(dict.fromkeys([select_lines(own_lines, {"satisfy"}), _satisfy(state), ()]))
    required = list(
        dict.fromkeys([select_lines(own_lines, {"require"}), *_require(state, own_lines, authz_context)])
    )
    for record in records[:2] + records[-1:]:
        for satisfy in satisfied:
            for require in required:
                yield (*record, *satisfy, *require)


def select_lines(lines: Lines, names: frozenset[str] | set[str]) -> Lines:
    """Return the lines called *names*, those in containers with their containers."""
    selected = []
    for line in lines:
        if line.name in ("limit", "limitexcept"):
            inner = select_lines(line.children, names)
            if inner:
                selected.append(AccessLine(line.name, line.args, line.place, inner))
        elif line.name in names:
            selected.append(line)
    return tuple(selected)


def _satisfy(state: dict[str, EffectiveRules]) -> Lines:
    """Return the Satisfy lines for the merged value."""
    values = {name: rules.satisfy for name, rules in state.items()}
    satisfy_lines: list[AccessLine] = []
    general = values[OTHER_METHODS]
    if general:
        satisfy_lines.append(AccessLine("satisfy", general.capitalize()))
    for name, value in values.items():
        if name != OTHER_METHODS and value != general and (value or general == "any"):
            satisfy_lines.append(
                AccessLine("limit", name, None, (AccessLine("satisfy", (value or "all").capitalize()),))
            )
    return tuple(satisfy_lines)


def _require(
    state: dict[str, EffectiveRules], own_lines: Lines, authz_context: AuthzContext
) -> Iterator[Lines]:
    if not has_directive(own_lines, {"require"}):
        yield ()
    for choice in user_choices(state, authz_context):
        yield from by_method({name: _decision(rules, choice) for name, rules in state.items()})


def _decision(rules: EffectiveRules, choice: dict[tuple[str, ...], RequireTree]) -> RequireTree:
    if rules.requires:
        return choice[tuple(rules.requires)]
    return DENIED if rules.satisfy == "any" else GRANTED
