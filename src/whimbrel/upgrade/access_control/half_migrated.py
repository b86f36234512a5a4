"""Configurations in which old and new access control meet: a main file of 2.4 with sites of 2.2.

2.4 asks both and refuses whoever one of them refuses: under `Require all denied` an inner `Allow from all` is 403 (AH01630), and under `Deny from
all` an inner `Require all granted` is 403 (AH01797).  Nothing is edited: which of the two was meant does not stand in the text.
"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.access.decision import Decision, Verdict
from whimbrel.access.layers import Layer
from whimbrel.dialect import V24
from whimbrel.records import replace
from whimbrel.upgrade.access_control.chains import Chain
from whimbrel.upgrade.access_control.control import Control, control, told
from whimbrel.upgrade.access_control.findings import key_of
from whimbrel.upgrade.access_control.left import is_ambiguous, is_of_22
from whimbrel.upgrade.access_control.sections import Unit, lines_of
from whimbrel.upgrade.access_control.split import Lines
from whimbrel.upgrade.access_control.states import RECORD, says
from whimbrel.upgrade.estate import Estate
from whimbrel.upgrade.model import Finding, Risk


def half_migrated(estate: Estate) -> Iterator[Finding]:
    """Sections in the words of one version that a section in those of the other closes for everybody, and sections that mix both."""
    made = control(estate)
    known = told(estate)
    if made.is_first and any(unit.carried for unit in made.left):
        known.update((("half-migrated", key_of(finding_unit)), finding) for finding_unit, finding in (*_closed(made), *_mixed(estate, made)))
    for unit in made.left:
        finding = known.get(("half-migrated", key_of(unit)))
        if isinstance(finding, Finding):
            yield replace(finding, place=unit.place)


def _closed(made: Control) -> Iterator[tuple[Unit, Finding]]:
    seen: set[Unit] = set()
    for chain in made.every:
        unit = chain.last
        if unit in seen or unit not in made.left or any(part.choices for part in chain.units):
            continue
        other = _other_words(chain)
        if other is not None and _is_closed(made, [_layer(part) for part in chain.units]) and not _is_closed(made, [_layer(unit)]):
            seen.add(unit)
            yield unit, _finding(made, unit, other)


def _mixed(estate: Estate, made: Control) -> Iterator[tuple[Unit, Finding]]:
    """Sections with both in a configuration that does not load the modules of 2.4."""
    for unit in made.left:
        if is_of_22(estate) and is_ambiguous(unit):
            yield unit, Finding("C20", unit.place, "Order, Allow, Deny or Satisfy beside a Require that only 2.4 understands: 2.2 takes its words "
                                "for names that no module knows", "write what was meant; the section stays as it is", Risk.OPENS)


def _other_words(chain: Chain) -> Unit | None:
    """An outer section in the words of the other version than those of the last one."""
    last = _new(chain.last)
    if says(last, RECORD) and not says(last, {"require"}):
        return next((unit for unit in chain.units[:-1] if unit.carried and says(_new(unit), {"require"})), None)
    if chain.last.carried and not says(last, RECORD):
        return next((unit for unit in chain.units[:-1] if says(_new(unit), RECORD)), None)
    return None


def _new(unit: Unit) -> Lines:
    return lines_of(unit.new_lines)


def _layer(unit: Unit) -> Layer:
    return unit.layer(_new(unit))


def _is_closed(made: Control, layers: list[Layer]) -> bool:
    """Return True if 2.4 refuses everybody."""
    decisions = made.solver.decisions
    after: Decision | None = decisions.decided(V24.name, [decisions.layer(layer.kind, layer.htaccess, layer.lines) for layer in layers])
    return after is not None and after.when[Verdict.FORBIDDEN] == decisions.space.true


def _finding(made: Control, unit: Unit, other: Unit) -> Finding:
    if unit.carried:
        return Finding("C20", unit.place, f"half-migrated: this Require stands under Order, Allow or Deny of {other.place}; 2.4 asks both "
                       "and answers 403 to everybody (AH01797)", "write Require in the outer section too", Risk.CLOSES)
    text = made.alone(unit)
    return Finding("C20", unit.place, f"half-migrated: Order, Allow and Deny stand under a Require of {other.place}; 2.4 asks both and answers "
                   "403 to everybody (AH01630)", f"write {text} if those are meant who were let in by 2.2",
                   Risk.CLOSES)
