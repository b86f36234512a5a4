"""What the rules about access control say, section by section; each section is told by one rule, that of what weighs most in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.errors import Place
from whimbrel.upgrade.access_control.chains import Chain
from whimbrel.upgrade.access_control.choose import Written
from whimbrel.upgrade.access_control.control import Control, control
from whimbrel.upgrade.access_control.native import BROKEN
from whimbrel.upgrade.access_control.sections import Unit
from whimbrel.upgrade.access_control.states import GONE, RECORD, said, says
from whimbrel.upgrade.estate import Estate
from whimbrel.upgrade.model import Finding, Risk, Safety

_KNOWN: Final = frozenset({"user", "valid-user", "group", "file-owner", "file-group"})


def of_rule(estate: Estate, number: str) -> Iterator[Finding]:
    """The findings of the rule *number*, in reading order."""
    made = control(estate)
    if number == "C16":
        yield from _alias(made)
    for unit in made.written:
        if row(made, unit) == number:
            found = finding(estate, made, unit, number)
            if found is not None:
                yield found


def _alias(made: Control) -> Iterator[Finding]:
    edits = made.alias()
    if edits:
        yield Finding("C16", Place(edits[0].path, 1), "2.2 answers 500 to users whom no authorization module judges; 2.4 has no such answer",
                      "define `Require internal-server-error`", Risk.CHANGES, Safety.SAFE, edits)


def row(made: Control, unit: Unit) -> str:
    """The number of the rule that tells what happens to the section."""
    lines = made.solver.lines[unit]
    if says(lines, RECORD | {"satisfy"}):
        return "C17"
    requires = [one.args for one in said(lines) if one.name == "require"]
    if any(_unknown(text) for text in requires):
        return "X10" if any(text.lstrip().startswith('"') for text in requires) else "X08"
    if any(text.lower().startswith("dbm-") for text in (one.args for one in said(made.written[unit].control))):
        return "C18"
    if any(line.name in GONE for line in lines):
        return "C16"
    return "C22"


def _unknown(text: str) -> bool:
    name = text.strip().partition(" ")[0]
    return (name not in _KNOWN and name.lower() not in ("group", "file-group", "file-owner")) and not name.lower().startswith("ldap-")


def finding(estate: Estate, made: Control, unit: Unit, number: str) -> Finding | None:
    """What happens to the section, None where nothing does."""
    written = made.written[unit]
    edits = made.edits(estate, unit)
    if written.failing:
        evidence = "\n".join(_evidence(chain, str(example) if example else "") for chain, example in written.failing[:3])
        opens = any(example is not None and example.after == 200 for _, example in written.failing)
        risk = Risk.OPENS if opens else Risk.CLOSES
        return Finding(number, unit.place, _message(made, unit, written) + "; no text of 2.4 was found that decides the same for everybody",
                       "look at who gets in where the sections meet", risk, Safety.REVIEW if edits else Safety.MANUAL, edits, evidence)
    if not edits:
        return None
    return Finding(number, unit.place, _message(made, unit, written), _remedy(written), Risk.BREAKS, Safety.SAFE, edits)


def _evidence(chain: Chain, example: str) -> str:
    where = chain.url or chain.path
    return f"{where}: {example}" if example else f"{where}: 2.4 would not start"


def _message(made: Control, unit: Unit, written: Written) -> str:
    lines = made.solver.lines[unit]
    if says(lines, RECORD | {"satisfy"}):
        if says(written.control, RECORD | {"satisfy"}):
            return "Order, Allow, Deny and Satisfy need mod_access_compat, which merges sections otherwise than 2.2 did"
        return "Order, Allow, Deny and Satisfy are Require in 2.4"
    if any(line.name in GONE for line in lines):
        return "the Authz...Authoritative directives are gone; Require lines are alternatives in 2.4, whatever module owns them"
    return "Require decides otherwise in 2.4: an inner section's lines replace the outer ones, and lines are alternatives"


def _remedy(written: Written) -> str:
    if any(BROKEN.text == one.args for one in said(written.control)):
        return "write what 2.2 decided, its answer 500 to users whom no module would judge included"
    return "write what 2.2 decided as a whole"
