"""What the rules about access control say, section by section; each section is told by one rule, that of what weighs most in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.access.decision import Verdict
from whimbrel.catalogue import catalogue
from whimbrel.errors import Place
from whimbrel.records import replace
from whimbrel.upgrade.access_control import native, notes
from whimbrel.upgrade.access_control.areas import is_loose
from whimbrel.upgrade.access_control.chains import Chain
from whimbrel.upgrade.access_control.choose import Written
from whimbrel.upgrade.access_control.control import CARRIED, Control, control, told
from whimbrel.upgrade.access_control.guards import is_guard
from whimbrel.upgrade.access_control.left import NEIGHBOUR
from whimbrel.upgrade.access_control.native import BROKEN
from whimbrel.upgrade.access_control.sections import Unit
from whimbrel.upgrade.access_control.split import Form, Lines
from whimbrel.upgrade.access_control.states import OTHERS, RECORD, Rules, merged, said, says
from whimbrel.upgrade.access_control.trees import all_of, written
from whimbrel.upgrade.estate import Estate
from whimbrel.upgrade.model import FileEdit, Finding, Risk, Safety, Style

_KNOWN: Final = frozenset({"user", "valid-user", "group", "file-owner", "file-group"})


def of_rule(estate: Estate, number: str) -> Iterator[Finding]:
    """The findings of the rule *number*, in reading order."""
    made = control(estate)
    if number == "C16":
        yield from _alias(made)
    known = told(estate)
    for unit in _spoken_of(estate, made, number):
        found = finding(estate, made, unit, number)
        if found is not None:
            if found.edits:
                known[CARRIED] = True
            else:
                known[key_of(unit)] = found
            yield found
    for unit, reason in made.left.items():
        earlier = known.get(key_of(unit))
        if isinstance(earlier, Finding) and earlier.rule == number:
            yield replace(earlier, place=unit.place)  # what stands around it was mended since
        elif reason and number == _row_of_left(made, unit, reason):
            found = known[key_of(unit)] = _stays(number, unit, reason)
            yield found


def _spoken_of(estate: Estate, made: Control, number: str) -> list[Unit]:
    """The sections whose rule has this number; worked out once for all rules."""
    memo = estate.memo.get("access control rows")
    if not isinstance(memo, tuple) or memo[0] is not made:
        groups: dict[str, list[Unit]] = {}
        rows: dict[Unit, str] = {}
        for unit in made.written:
            first = made.twins.get(unit, (unit,))[0]  # hosts that are alike stand behind those that they are like
            rows[unit] = rows[first] if first in rows else row(estate, made, unit)
            groups.setdefault(rows[unit], []).append(unit)
        memo = estate.memo["access control rows"] = (made, groups)
    units: list[Unit] = memo[1].get(number, [])
    return units


def _row_of_left(made: Control, unit: Unit, reason: str) -> str:
    """The number of the rule that tells of a section that stays as it is, "" where nothing changes in it."""
    lines = made.solver.lines[unit]
    if says(lines, RECORD | {"satisfy"}):
        return "C17"
    if any(line.name in made.solver.gone for line in lines):
        return "C16"
    return "C21" if says(lines, {"require"}) and reason != NEIGHBOUR else ""


def _stays(number: str, unit: Unit, reason: str) -> Finding:
    return Finding(number, unit.place, f"access control stays as it is: {reason}", "write the new lines by hand, for each case", Risk.CHANGES)


def key_of(unit: Unit) -> tuple[object, ...]:
    """What a section is known by after edits around it."""
    outer = key_of(unit.outer) if unit.outer is not None else ()
    return "access control", unit.file.path, unit.kind, unit.pattern, unit.folder, tuple(line.args for line in unit.lines), outer


def _alias(made: Control) -> Iterator[Finding]:
    edits = made.alias()
    if edits:
        yield Finding("C16", Place(edits[0].path, 1), "2.2 answers 500 to users whom no authorization module judges; 2.4 has no such answer",
                      "define `Require internal-server-error`", Risk.CHANGES, Safety.SAFE, edits)


def row(estate: Estate, made: Control, unit: Unit) -> str:
    """The number of the rule that tells what happens to the section."""
    lines, become = made.solver.lines[unit], made.written[unit]
    requires = [one.args for one in said(lines) if one.name == "require"]
    if says(lines, RECORD | {"satisfy"}):
        return _row_of_lists(estate, made, unit)
    if any(text.lstrip().startswith('"') for text in requires):
        return "X10"
    if any(_unknown(text) for text in requires):
        return "X08"
    if any(one.args.startswith("dbm-") for one in said(become.control)):
        return "C18"
    if any(line.name in made.solver.gone for line in lines):
        return "C16"
    after = [one.args for one in said(become.control) if one.name == "require"]
    if sorted(_plain(text) for text in after) == sorted(_plain(text) for text in requires):
        return "C23"
    return "C21" if len(requires) > 1 else "C22"


def _row_of_lists(estate: Estate, made: Control, unit: Unit) -> str:
    lines, become = made.solver.lines[unit], made.written[unit]
    if _is_refused(lines):
        return "X10"
    if guide_form(made, unit) is not None:
        return "C19"
    if estate.wishes.style is Style.NATIVE and says(become.control, RECORD | {"satisfy"}) and unit not in made.solver.dead:
        return "C17" if is_loose(estate, unit) else "C20"
    if not says(lines, {"satisfy"}) and _outer_any(made, unit):
        return "X12"
    return "C17"


def _outer_any(made: Control, unit: Unit) -> bool:
    """Whether an outer section's Satisfy Any holds in the section."""
    states = (merged([made.solver.lines[u] for u in chain.units]) for chain in made.ends(unit)[:3])
    return any(rules.satisfy == "any" for state in states for rules in state.values())


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def guide_form(made: Control, unit: Unit) -> Lines | None:
    """What the upgrade guide makes of the pair that it calls "both criteria" written with Order allow,deny: 2.2 denies everybody there."""
    lines = made.solver.own[unit]
    if unit.choices or sorted(line.name for line in lines) != ["allow", "deny", "order", "require", "satisfy"]:
        return None
    state = merged([lines])[OTHERS]
    if state.requires != ["valid-user"]:
        return None
    entries = [word for word in state.allows if word.lower() != "all"]
    if state.order != "allow,deny" or [word.lower() for word in state.denies] != ["all"] or not entries or state.satisfy == "any":
        return None
    around = native.Surroundings(made.solver.old_modules)
    by_host = native.hosts(Rules("allow,deny", entries))
    return written(all_of([by_host, next(native.users(state.requires, around))]))


def _unknown(text: str) -> bool:
    name = text.strip().partition(" ")[0]
    return (name not in _KNOWN and name.lower() not in ("group", "file-group", "file-owner")) and not name.lower().startswith("ldap-")


def finding(estate: Estate, made: Control, unit: Unit, number: str) -> Finding | None:
    """What happens to the section, None where nothing does."""
    become = made.written[unit]
    guide = guide_form(made, unit) if number == "C19" and not estate.wishes.exact and estate.wishes.style is Style.NATIVE else None
    if guide is not None:
        return _as_the_guide(estate, made, unit, guide)
    edits = made.edits(estate, unit)
    if number == "X10" and _is_refused(made.solver.lines[unit]):
        return _never_ran(unit, edits)
    if become.failing and unit in made.solver.dead and unit.file.path in refused_files(estate):
        return None  # X22 tells of the whole file
    if become.failing:
        evidence = "\n".join(_evidence(chain, str(example) if example else "") for chain, example in become.failing[:3]) + _whose(made, unit)
        opens = any(example is not None and example.after == Verdict.GRANTED for _, example in become.failing)
        return Finding(number, unit.place, _message(made, unit) + "; no text of 2.4 was found that decides the same for everybody",
                       "look at who gets in where the sections meet", Risk.OPENS if opens else Risk.CLOSES,
                       Safety.REVIEW if edits else Safety.MANUAL, edits, evidence)
    if not edits:
        return _kept(estate, made, unit, number)
    evidence = "\n".join("should such a request ever be made: " + _evidence(chain, str(example or ""))
                         for chain, example in become.possible[:2]) + _whose(made, unit) * bool(become.possible)
    served = made.served_by_22(unit) if is_guard(unit) else None
    if served is not None:
        return Finding(number, unit.place, f"{_message(made, unit)}; 2.2 served the files that this section guards, because of an outer Satisfy Any",
                       "nobody gets them now; change passwords that may have been read", Risk.CLOSES, Safety.REVIEW, edits, _evidence(*served))
    strangers = _strangers(unit)
    if strangers:
        return Finding(number, unit.place, f"{_message(made, unit)}; {strangers[0]} is of a module that nobody knows here and may decide too",
                       "write what httpd's own modules decided; read what that module wants in 2.4", Risk.BREAKS, Safety.REVIEW, edits, evidence)
    note = "; other sections are about URLs below it too, see there whom they ask for a password" if unit.is_page and become.possible else ""
    return Finding(number, unit.place, _message(made, unit) + note, _remedy(become), Risk.BREAKS, Safety.SAFE, edits, evidence)


def refused_files(estate: Estate) -> frozenset[str]:
    """The .htaccess files that one version answers with 500 and the other reads."""
    known = estate.memo.get("refused files")
    if not isinstance(known, frozenset):
        known = estate.memo["refused files"] = frozenset(found.place.path for found in notes.htaccess_files(estate))
    return known


def _is_refused(lines: Lines) -> bool:
    """Whether there is a blank in Order."""
    return any(one.name == "order" and len(one.args.split()) > 1 for one in said(lines))


def _never_ran(unit: Unit, edits: tuple[FileEdit, ...]) -> Finding:
    what = "Order with a blank is two words, which both versions refuse"
    if unit.htaccess:
        return Finding("X10", unit.place, f"{what}: 500 to every request for the folder, as before", "take the blank out if the folder may be seen",
                       Risk.COSMETIC)
    return Finding("X10", unit.place, f"{what}: 2.2 did not start with this file, so that nobody has seen what it does",
                   "write what the words without the blank mean; look whether that was wanted", Risk.BREAKS,
                   Safety.REVIEW if edits else Safety.MANUAL, edits)


def _strangers(unit: Unit) -> list[str]:
    """The names of its lines about authorization that no module of httpd has."""
    old, new = catalogue("2.2"), catalogue("2.4")
    return [line.node.name for line in unit.lines if line.name.startswith("authz") and not old.find(line.name) and not new.find(line.name)]


def _kept(estate: Estate, made: Control, unit: Unit, number: str) -> Finding | None:
    if number == "C17" and is_loose(estate, unit):
        return Finding(number, unit.place, "Order, Allow, Deny and Satisfy stay, with mod_access_compat: what is around this fragment "
                       "is not known, and a Require line would replace an outer one that asks for a password",
                       f"give the main configuration with -f; by hand, where nothing around it says Require: {made.alone(unit)}", Risk.COSMETIC)
    if number != "C20":
        return None
    return Finding(number, unit.place, "Order, Allow, Deny and Satisfy stay with mod_access_compat: no Require would say the same here",
                   "nothing to do; AllowOverride AuthConfig would let a .htaccess file have Require", Risk.COSMETIC)


def _as_the_guide(estate: Estate, made: Control, unit: Unit, guide: Lines) -> Finding:
    edits = made.edits(estate, unit, Form(guide))
    example = made.difference(unit, Form(guide))
    return Finding("C19", unit.place, "the upgrade guide reads this pair as \"the host and a user\"; 2.2 itself denies everybody here, "
                   "since Order allow,deny asks Deny last", "keep the guide's form if that was meant; --exact writes what 2.2 does", Risk.OPENS,
                   Safety.REVIEW, edits, str(example) + _whose(made, unit) if example is not None else "")


def _whose(made: Control, unit: Unit) -> str:
    """What stands behind an example that is another host's."""
    place = made.model(unit)
    if place is None:
        return ""
    where = f"in line {place.line}" if place.path == unit.file.path else f"at {place}"
    return f"\n(with the addresses and names of the section {where}, which is like this one)"


def _evidence(chain: Chain, example: str) -> str:
    where = (chain.url or chain.path) + (f" ({chain.given})" if chain.given else "")
    return f"{where}: {example}" if example else f"{where}: 2.4 would not start"


def _message(made: Control, unit: Unit) -> str:
    lines, become = made.solver.lines[unit], made.written[unit]
    if says(lines, RECORD | {"satisfy"}):
        if says(become.control, RECORD | {"satisfy"}):
            return "Order, Allow, Deny and Satisfy stay with mod_access_compat, which merges sections otherwise than 2.2 did"
        return "Order, Allow, Deny and Satisfy are Require in 2.4"
    if any(line.name in made.solver.gone for line in lines):
        return "the ...Authoritative directives are gone; Require lines are alternatives in 2.4, whatever module owns them"
    text = "Require decides otherwise in 2.4: an inner section's lines replace the outer ones, lines are alternatives, words are exact"
    return text + "".join(f"; Require {args.strip()} made no difference in 2.2" for args in _without_effect(lines, become.control)[:1])


def _without_effect(lines: Lines, after: Lines) -> list[str]:
    """The groups and users after Require that the new lines don't name any more: the module that 2.2 asked first never left it to theirs."""
    left = {one.args.split()[0].lower().rpartition("-")[2] for one in said(after) if one.name == "require" and one.args.split()}
    gone = [one.args for one in said(lines) if one.name == "require" and one.args.split()[:1] and one.args.split()[0].lower() in ("group", "user")]
    return [args for args in gone if args.split()[0].lower() not in left]


def _remedy(written: Written) -> str:
    if any(BROKEN.text == one.args for one in said(written.control)):
        return "write what 2.2 decided, its answer 500 to users whom no module would judge included"
    return "write what 2.2 decided as a whole"
