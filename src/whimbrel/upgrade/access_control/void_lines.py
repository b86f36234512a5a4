"""Lines about access that had no effect in 2.2, and that the new text of a section leaves out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from whimbrel.upgrade.access_control.analysis import AccessAnalysis
from whimbrel.upgrade.access_control.effective import (
    ALL_METHODS,
    RECORD,
    EffectiveDirective,
    flatten_directives,
    idle_limits,
)
from whimbrel.upgrade.access_control.replacement import Lines
from whimbrel.upgrade.access_control.sections import AccessSection
from whimbrel.upgrade.source.config_tree import ConfigTree

_LISTS: Final = RECORD | {"satisfy"}
_OF_USERS: Final = frozenset({"group", "user"})
_KNOWN_REQUIRES: Final = frozenset({"user", "valid-user", "group", "file-owner", "file-group"})


def remark_on(tree: ConfigTree, analysis: AccessAnalysis, section: AccessSection) -> str:
    """Return the line that had no effect in 2.2 and that the new text leaves out, "" for none; with the outer
    section that its section replaced, if that admits fewer clients."""
    lines = analysis.decisions.lines[section]
    control = analysis.plans[section].control
    before = list(flatten_directives(lines))
    requires = [line.args for line in flatten_directives(control) if line.name == "require"]
    normal = {normalized(args) for args in requires}
    void: list[str] = []
    if any(line.name in _LISTS for line in before):
        if normal and normal <= {"all granted", "all denied"}:
            void = [_as_text(line) for line in before if _has_clients(line)]
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
    others = _void_requires(before, requires) or _void_limits(before, lines, control)
    if not void and not others:
        return ""
    remark = f"`{(void or others)[0]}` had no effect here in 2.2"
    replaced = analysis.replaced(section) if void else None
    if replaced is None:
        return remark
    where = f"{replaced.place.path.removeprefix(tree.root + '/')}:{replaced.place.line}"
    return f"{remark}: its section replaced that of {where}, which admits fewer clients"


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


def _as_text(line: EffectiveDirective) -> str:
    return f"{line.name.capitalize()} {normalized(line.args)}"


def _void_requires(before: Iterable[EffectiveDirective], requires: Iterable[str]) -> list[str]:
    """Return the Require lines of groups and users that the new text, with *requires*, omits: in 2.2 the
    first module never left the decision to theirs."""
    gone = [
        line.args
        for line in before
        if line.name == "require" and line.args.split()[:1] and line.args.split()[0].lower() in _OF_USERS
    ]
    left = {args.split()[0].lower().rpartition("-")[2] for args in requires if gone and args.split()}
    return [f"Require {args.strip()}" for args in gone if args.split()[0].lower() not in left]


def _void_limits(before: Iterable[EffectiveDirective], lines: Lines, after: Lines) -> list[str]:
    """Return the containers of methods whose lines decide nothing, as others stand beside them."""
    if not any(line.methods == ALL_METHODS and line.name in RECORD for line in before):
        return []
    return [tag for tag, _line in idle_limits(lines, after)]
