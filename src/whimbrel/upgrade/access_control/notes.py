"""What rules about access control say without an edit of their own: what the new text brings with it, and what no text can mend."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Final

from whimbrel.catalogue import Row, catalogue
from whimbrel.config.model import SectionKind
from whimbrel.dialect import V22
from whimbrel.directives.spec import Where
from whimbrel.octets import raw
from whimbrel.upgrade.access_control.chains import admitted
from whimbrel.upgrade.access_control.control import Control, control
from whimbrel.upgrade.access_control.overrides import Override
from whimbrel.upgrade.access_control.sections import Unit, absolute, opened
from whimbrel.upgrade.access_control.split import Lines
from whimbrel.upgrade.access_control.states import OTHERS, RECORD, merged, said, says, words
from whimbrel.upgrade.estate import Estate, Statement
from whimbrel.upgrade.model import Finding, Risk, Safety

_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost", "127.0.0.1/32", "127"})
_LONG: Final = 8191
_CONTAINERS: Final = frozenset({"<requireall", "<requireany", "<requirenone", "authmerging"})
"""Of 2.4 alone: the file was upgraded."""
_OWN: Final = frozenset({"substitutemaxlinelength"})
"""What other rules write beside a line that 2.2 takes."""
_LEAST: Final = {"NO_ARGS": 0, "TAKE1": 1, "TAKE12": 1, "TAKE123": 1, "TAKE13": 1, "ITERATE": 1, "FLAG": 1, "TAKE2": 2, "TAKE23": 2,
                 "ITERATE2": 2, "TAKE3": 3}
_BITS: Final = {"authconfig": Where.OR_AUTHCFG, "limit": Where.OR_LIMIT, "fileinfo": Where.OR_FILEINFO, "indexes": Where.OR_INDEXES,
                "options": Where.OR_OPTIONS}


def _note(number: str, unit: Unit, message: str, remedy: str = "nothing to do") -> Finding:
    return Finding(number, unit.place, message, remedy, Risk.COSMETIC)


def satisfy_any_logs(estate: Estate) -> Iterator[Finding]:
    """Sections that keep Satisfy Any."""
    for unit, written in control(estate).written.items():
        if any(one.name == "satisfy" and one.args.lower() == "any" for one in said(written.control)):
            yield _note("X13", unit, "2.4 logs AH01797 under Satisfy Any for requests that it then answers with 200",
                        "leave such lines out where something reads the error log, fail2ban for example")


def outvoted(estate: Estate) -> Iterator[Finding]:
    """Sections of 2.4 with Require all granted beside other lines."""
    for unit in control(estate).found.units:
        if unit.carried:
            texts = [line.args.lower().split() for line in unit.new_lines if line.name == "require"]
            if any(text[:1] == ["not"] for text in texts):
                yield Finding(
                    "X14",
                    unit.place,
                    "Require not among lines without a container: 2.4 does not start with it (negative Require directive "
                    "has no effect in <RequireAny>)",
                    "put the lines into <RequireAll>",
                    Risk.BREAKS,
                )
            elif ["all", "granted"] in texts and any(text != ["all", "granted"] for text in texts):
                yield _note("X14", unit, "lines without a container are alternatives: Require all granted lets everybody in",
                            "take the line out, or put the others into <RequireAll>")


def loopback(estate: Estate) -> Iterator[Finding]:
    """Sections that admit the machine itself by its address."""
    made = control(estate)
    for unit in made.written:
        entries = [word.lower() for one in said(made.solver.lines[unit]) if one.name == "allow" for word in words(one.args)[1:]]
        if _LOOPBACK.intersection(entries):
            yield _note("X18", unit, "an address stays one; Require local is wider: 127.0.0.0/8, ::1, the machine's connections to itself",
                        "write Require local by hand where that is what was meant")


def limited(estate: Estate) -> Iterator[Finding]:
    """Sections whose access control stands in <Limit> or <LimitExcept>."""
    for unit in control(estate).found.units:
        lines = unit.told
        if not any(line.name in ("limit", "limitexcept") and says(line.children, RECORD | {"require", "satisfy"}) for line in lines):
            continue
        if _rechecked(unit, lines):
            yield Finding("X20", unit.place, "2.2 asks a <Location> once more, as GET, for the index of a folder; 2.4 asks once",
                          "leave the <Limit> out where all methods are meant", Risk.OPENS, Safety.MANUAL,
                          evidence="a POST to a folder: 2.2 answers what it answers to GET, 2.4 what it answers to POST")
        elif not unit.carried:
            yield _note("X20", unit, "what stands in <Limit> or <LimitExcept> is about these methods alone; the rest decides the others",
                        "leave the container out where all methods are meant")


def _rechecked(unit: Unit, lines: Lines) -> bool:
    """Whether a <Location> lets other methods in where it keeps GET out."""
    if unit.kind not in (SectionKind.LOCATION, SectionKind.LOCATION_MATCH) or unit.proxy:
        return False
    state = merged([lines])
    return "GET" in state and bool(state["GET"].requires) and not state[OTHERS].requires


def by_environment(estate: Estate) -> Iterator[Finding]:
    """Sections that ask the environment."""
    made = control(estate)
    for unit in made.written:
        if any(word.lower().startswith("env=") for one in said(made.solver.lines[unit]) if one.name in ("allow", "deny") for word in words(one.args)):
            yield _note("X21", unit, "env= of Allow and Deny is Require env; the variables must be there as early as before, by SetEnvIf, not SetEnv")


def untried(estate: Estate) -> Iterator[Finding]:
    """What was left out because there is too much of it, told at the first section that has something to say."""
    made = control(estate)
    first = next(iter(made.written), None)
    if first is not None and any(written.control for written in made.written.values()):
        for what in made.bounds.hit:
            yield Finding("C17", first.place, f"not all that sections can meet was worked out: {what}",
                          "look at what sections with patterns say about the rest", Risk.COSMETIC)


# .htaccess files ------------------------------------------------------------------------------------
def htaccess_files(estate: Estate) -> Iterator[Finding]:
    """Files that one version answers with 500 and the other reads: for a line that only one knows there, or admits under the AllowOverride."""
    made = control(estate)
    overrides = admitted(estate, made.found)
    by_lines = estate.has("loadmodule")  # else everything may be compiled in
    for unit in made.found.units:
        if unit.kind is SectionKind.HTACCESS and unit in overrides:
            found = _judged(made, unit, overrides[unit], by_lines=by_lines)
            if found is not None:
                yield found


def _judged(made: Control, unit: Unit, override: Override, *, by_lines: bool) -> Finding | None:
    bits = int(Where.OR_ALL) if override is None else sum(int(_BITS[name]) for name in override)
    loaded = made.solver.decisions.old.settings(V22).configuration.modules
    new, old = catalogue("2.4"), catalogue("2.2")
    refused_24: Statement | None = None
    for line in _all(unit.file.statements):
        rows, known = loaded.rows(line.name) if by_lines else old.find(line.name), new.find(line.name)
        if line.in_24 is False or line.name in _OWN:
            continue
        taken_24 = any(row.where & bits for row in known)
        if not rows or not any(row.where & bits for row in rows) or _too_short(line, str(rows[0].args), known):
            if not taken_24 or line.name in _CONTAINERS:
                return None
            return Finding("X22", line.place, f"2.2 refuses {_name(line)} here and answers 500 to every request for the folder; 2.4 reads the file",
                           "make sure that the folder may be seen", Risk.OPENS)
        if known and not taken_24 and refused_24 is None:
            refused_24 = line
    if refused_24 is None:
        return None
    if refused_24.is_section and not refused_24.children:
        return Finding("X22", refused_24.place, f"2.4 refuses {_name(refused_24)} under this AllowOverride and answers 500; it holds nothing",
                       "take it out", Risk.CLOSES, Safety.SAFE, (refused_24.remove(),))
    return Finding("X22", refused_24.place, f"2.4 refuses {_name(refused_24)} under this AllowOverride: 500 to every request for the folder",
                   "take the line out, or admit it by AllowOverride", Risk.CLOSES)


def _too_short(line: Statement, old: str, known: Sequence[Row]) -> bool:
    """Whether the line has fewer words than 2.2 wants, but as many as 2.4 does."""
    if line.is_section or not known or _LEAST.get(old, 0) <= _LEAST.get(known[0].args, 9):
        return False
    return _LEAST.get(known[0].args, 9) <= len(line.words()) < _LEAST[old]


def _name(line: Statement) -> str:
    return line.node.name if not line.is_section else f"<{line.node.name}>"


def _all(statements: list[Statement]) -> Iterator[Statement]:
    for statement in opened(statements):
        yield statement
        yield from _all(statement.children)


# users ----------------------------------------------------------------------------------------------
def user_checks(estate: Estate) -> Iterator[Finding]:
    """Digest logins, and lines of password and group files that are longer than 2.2 reads."""
    for line in estate.named("authtype"):
        if line.in_24 is not False and line.args.strip().strip('"').lower() == "digest":
            yield Finding("C46", line.place, "2.4 refuses Digest logins without qop, and nonces of 2.2",
                          "clients as old as that need Basic over TLS", Risk.CLOSES)
    for line in estate.named("authuserfile", "authgroupfile"):
        path = absolute(estate.root, line.words()[0]) if line.words() else ""
        if _has_long_line(path):
            yield Finding("C46", line.place, f"{path} has a line of more than {_LONG} bytes, which 2.2 cuts and 2.4 does not",
                          "look at who stands at the end of that line", Risk.OPENS)


def _has_long_line(path: str) -> bool:
    try:
        if os.path.getsize(raw(path)) <= _LONG:
            return False
        with open(raw(path), "rb") as file:
            return any(len(line.rstrip(b"\n")) > _LONG for line in file)
    except OSError:
        return False

