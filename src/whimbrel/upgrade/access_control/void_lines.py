"""Lines about access that had no effect in 2.2, and that the new text of a section leaves out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from whimbrel.access.decision import AccessDecision
from whimbrel.access.layers import AccessLine
from whimbrel.base.dialect import V22
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.upgrade.access_control.analysis import AccessAnalysis
from whimbrel.upgrade.access_control.chain_decisions import ChainDecisions
from whimbrel.upgrade.access_control.effective import (
    ALL_METHODS,
    LIMITS,
    RECORD,
    EffectiveDirective,
    flatten_directives,
    has_directive,
    idle_limits,
)
from whimbrel.upgrade.access_control.replacement import Lines
from whimbrel.upgrade.access_control.sections import AccessSection, Chain
from whimbrel.upgrade.edits.diff import display_path
from whimbrel.upgrade.source.config_tree import ConfigTree

Candidate = EffectiveDirective | AccessLine
"""A line, or a container of methods, that the new text leaves out."""
MAX_PROVED: Final = 4  # lines of a section that are looked at
_LISTS: Final = RECORD | {"satisfy"}
_OF_USERS: Final = frozenset({"group", "user"})
_KNOWN_REQUIRES: Final = frozenset({"user", "valid-user", "group", "file-owner", "file-group"})


def remark_on(tree: ConfigTree, analysis: AccessAnalysis, section: AccessSection) -> str:
    """Return the line that had no effect in 2.2 and that the new text leaves out, "" for none.

    It has the line of its section that admitted the clients, or the outer section that its section replaced
    and that admits fewer clients; and the container of methods that goes with it.
    """
    lines = analysis.decisions.lines[section]
    control = analysis.plans[section].control
    before = list(flatten_directives(lines))
    requires = [line.args for line in flatten_directives(control) if line.name == "require"]
    normal = {normalized(args) for args in requires}
    void: list[Candidate] = []
    if any(line.name in _LISTS for line in before):
        if normal and normal <= {"all granted", "all denied"}:
            void = [line for line in before if _has_clients(line)]
    else:
        unknown = [
            line.args
            for line in before
            if line.name == "require"
            and is_unknown_require(line.args)
            and normalized(line.args) not in normal
        ]
        if unknown:
            return f"no module of httpd 2.2 knows `Require {unknown[0].strip()}`"
    candidates = void or [*_void_requires(before, requires), *_void_limits(before, lines, control)]
    proved = next((one for one in candidates[:MAX_PROVED] if is_void(analysis, section, one)), None)
    if proved is None:
        return ""
    remark = f"`{_as_text(proved)}` had no effect here in 2.2"
    if not void:
        return remark
    admits = _admitting(analysis, section, proved, before) if proved.name in RECORD else None
    if admits is not None:
        limits = (tag for tag, line in idle_limits(lines, control) if _holds(line, proved))
        tag = next(limits, "")
        gone = f"; `{tag}` goes: who means it corrects the new text" if tag else ""
        return f"{remark}: `{_as_text(admits)}` beside it admits its clients{gone}"
    replaced = analysis.replaced(section)
    if replaced is None:
        return remark
    where = f"{display_path(replaced.place.path, tree.top)}:{replaced.place.line}"
    return f"{remark}: its section replaced that of {where}, which admits fewer clients"


def _admitting(
    analysis: AccessAnalysis, section: AccessSection, line: Candidate, lines: Iterable[EffectiveDirective]
) -> EffectiveDirective | None:
    """Return the Allow line among *lines* of *section* without which *line* has an effect, None for none."""
    others = [one for one in lines if one.name == "allow" and normalized(one.args) != normalized(line.args)]
    return next((one for one in others[:MAX_PROVED] if _matters_without(analysis, section, line, one)), None)


def _matters_without(
    analysis: AccessAnalysis, section: AccessSection, line: Candidate, other: Candidate
) -> bool:
    """Return True if 2.2 would decide otherwise about *line* if *section* had no *other* line."""
    with_line = _altered(analysis, section, (other,))
    without_line = _altered(analysis, section, (other, line))
    decisions = analysis.decisions
    for chain in decisions.chains:
        if with_line.keys().isdisjoint(chain.sections):
            continue
        before = _decided(decisions, chain, with_line)
        after = _decided(decisions, chain, without_line)
        if before is not None and after is not None and decisions.cache.difference(before, after) is not None:
            return True
    return False


def _altered(
    analysis: AccessAnalysis, section: AccessSection, left_out: Iterable[Candidate]
) -> dict[AccessSection, Lines]:
    """Return the lines of each variant of *section* without those that are *left_out*."""
    first = analysis.equivalents.get(section, (section,))[0]
    found = {unit: analysis.decisions.lines[unit] for unit in analysis.variants.of[first].values()}
    for line in left_out:
        found = {unit: _without(lines, line) for unit, lines in found.items()}
    return found


def _decided(
    decisions: ChainDecisions, chain: Chain, altered: dict[AccessSection, Lines], version: str = V22.name
) -> AccessDecision | None:
    """Return the decision of 2.2 with the lines that are *altered*; None where it is not known.

    *version* names one of the orders of its modules.
    """
    return decisions.cache.decision(
        version,
        [
            decisions.layer_of(unit, altered[unit] if unit in altered else decisions.lines[unit])
            for unit in chain.sections
        ],
    )


def _holds(container: AccessLine, line: Candidate) -> bool:
    """Return True if *line* is in *container*."""
    return any(
        _holds(one, line) or (one.name, one.args) == (line.name, line.args) for one in container.children
    )


def is_void(analysis: AccessAnalysis, section: AccessSection, line: Candidate) -> bool:
    """Return True if 2.2 decides alike without *line* of *section*, for all servers and paths at which the
    section is merged; False where that is not known.

    Without an Allow or Deny line its section has still settings of mod_authz_host, which replace outer ones.
    """
    if analysis.bounds.exceeded:
        return False
    decisions = analysis.decisions
    altered = _altered(analysis, section, (line,))
    chains = [chain for chain in decisions.chains if not altered.keys().isdisjoint(chain.sections)]
    for chain in chains:
        before = decisions.before_22(chain)
        after = _decided(decisions, chain, altered)
        if before is None or after is None or decisions.cache.difference(before, after) is not None:
            return False
        for order in decisions.other_orders:
            before = _decided(decisions, chain, {}, order)
            after = _decided(decisions, chain, altered, order)
            if before is None or after is None or decisions.cache.difference(before, after) is not None:
                return False
    return bool(chains)


def _without(lines: Lines, line: Candidate) -> Lines:
    """Return *lines* without *line*, with settings of mod_authz_host if they have some."""
    left = tuple(_all_but(lines, line))
    if has_directive(lines, RECORD) and not has_directive(left, RECORD):
        return (*left, AccessLine("order", "deny,allow"))  # the default of 2.2
    return left


def _all_but(lines: Lines, line: Candidate) -> Iterator[AccessLine]:
    for one in lines:
        if one.name == line.name and normalized(one.args) == normalized(line.args):
            continue
        yield replace(one, children=tuple(_all_but(one.children, line))) if one.children else one


def normalized(text: str) -> str:
    """Return arguments in lower case, with one blank between them."""
    return " ".join(text.lower().split())


def is_unknown_require(text: str) -> bool:
    """Return True if no module of httpd 2.2 knows the arguments of a Require line."""
    name = text.strip().partition(" ")[0]
    return (
        name not in _KNOWN_REQUIRES and name.lower() not in ("group", "file-group", "file-owner")
    ) and not name.lower().startswith("ldap-")


def _has_clients(line: EffectiveDirective) -> bool:
    """Return True if the line is about some clients or users, not about all."""
    if line.name in ("allow", "deny"):
        return len(line.args.split()) > 1 and normalized(line.args) != "from all"
    return line.name == "require"


def _as_text(line: Candidate) -> str:
    if isinstance(line, AccessLine):
        return f"<{LIMITS[line.name]} {line.args.strip()}>"
    args = line.args.strip() if line.name == "require" else normalized(line.args)
    return f"{line.name.capitalize()} {args}"


def _void_requires(
    before: Iterable[EffectiveDirective], requires: Iterable[str]
) -> Iterator[EffectiveDirective]:
    """Yield the Require lines of groups and users that the new text, with *requires*, omits: in 2.2 the
    first module never left the decision to theirs."""
    gone = [
        line
        for line in before
        if line.name == "require" and line.args.split()[:1] and line.args.split()[0].lower() in _OF_USERS
    ]
    left = {args.split()[0].lower().rpartition("-")[2] for args in requires if gone and args.split()}
    return (line for line in gone if line.args.split()[0].lower() not in left)


def _void_limits(before: Iterable[EffectiveDirective], lines: Lines, after: Lines) -> list[AccessLine]:
    """Return the containers of methods whose lines decide nothing, as others stand beside them."""
    if not any(line.methods == ALL_METHODS and line.name in RECORD for line in before):
        return []
    return [line for _tag, line in idle_limits(lines, after)]
