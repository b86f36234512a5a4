"""Why the new text of a section looks otherwise than its old lines: containers of methods that go,
repetitions of the section in other places, and <If> sections in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from whimbrel.access.layers import AccessLine
from whimbrel.base.counts import and_more
from whimbrel.base.errors import SourceLocation
from whimbrel.config.model import LOCATION_KINDS
from whimbrel.upgrade.access_control.analysis import AccessAnalysis
from whimbrel.upgrade.access_control.effective import (
    LIMITS,
    RECORD,
    flatten_directives,
    has_directive,
    idle_limits,
)
from whimbrel.upgrade.access_control.replacement import FILES, FileCase, Lines, Repetition, directory_of
from whimbrel.upgrade.access_control.sections import AccessSection
from whimbrel.upgrade.edits.diff import display_path
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement

_OF_LISTS: Final = frozenset({"all", "ip", "host", "env", "local", "forward-dns"})
"""The words of Require lines that have the place of Order, Allow and Deny."""
_OF_USERS: Final = frozenset({"user", "valid-user", "group", "file-owner", "file-group", "dbm-group"})
MAX_PLACES: Final = 3
"""Places of a repeated section that a reason names."""


def edit_reasons(tree: ConfigTree, analysis: AccessAnalysis, section: AccessSection) -> Iterator[str]:
    """Yield the reasons for what is not to be expected in the edits of *section*."""
    plan = analysis.plans[section]
    gone = list(_limits_that_go(section.access_lines, plan.control))
    if gone:
        named = ", ".join(f"`{tag}`" for tag in gone)
        asks = any("method" in line.args.lower().split()[:2] for line in flatten_directives(plan.control))
        stays = "the lines that stay decide about its methods as before"
        yield f"`Require method` has the place of {named}" if asks else f"{named} goes: {stays}"
    yield from _of_outer_lines(tree, analysis, section, plan.control)
    repeats = plan.replacement.repeats
    if repeats and section.statement is not None:
        yield _of_repetitions(tree, section.statement, repeats, in_holder=section.kind in FILES)
    if plan.replacement.cases:
        yield _of_cases(tree, plan.replacement.cases)


def _of_outer_lines(
    tree: ConfigTree, analysis: AccessAnalysis, section: AccessSection, control: Lines
) -> Iterator[str]:
    """Yield where Require lines come from that have the place of no line of the section itself."""
    own = section.access_lines
    written = [line.args.split() for line in flatten_directives(control) if line.name == "require"]
    words = {next((word.lower() for word in args if word.lower() != "not"), "") for args in written}
    for names, kinds, what in (
        (RECORD, _OF_LISTS, "Order, Allow and Deny"),
        (frozenset({"require"}), _OF_USERS, "Require"),
    ):
        outer = None if has_directive(own, names) else _outer_with(analysis, section, names)
        if outer is None or words.isdisjoint(kinds):
            continue
        place = _place(tree, outer.place)
        added = next(" ".join(args) for args in written if not kinds.isdisjoint(map(str.lower, args)))
        yield (
            f"`Require {added}` is there for {what} of {place}, which 2.2 joins with this section; of "
            "several sections 2.4 takes the Require lines of the last alone"
        )
        if added == "all granted":
            yield from _later_guards(tree, analysis, section)


def _outer_with(
    analysis: AccessAnalysis, section: AccessSection, names: frozenset[str]
) -> AccessSection | None:
    """Return the last section around *section* with lines of *names*, None where requests differ in it."""
    around = (chain.sections[-2::-1] for chain in analysis.chains_ending_at(section) if chain.is_certain)
    found = {
        next((unit for unit in sections if has_directive(unit.access_lines, names)), None)
        for sections in around
    }
    outer = found.pop() if len(found) == 1 else None
    return None if outer is None else analysis.variants.base.get(outer, outer)


def _later_guards(tree: ConfigTree, analysis: AccessAnalysis, section: AccessSection) -> Iterator[str]:
    """Yield that later sections decide about some or all URLs of a section that admits every client."""
    units = set(analysis.variants.of[analysis.equivalents.get(section, (section,))[0]].values())
    later: dict[str, None] = {}
    for chain in analysis.decisions.chains:
        at = next((number for number, unit in enumerate(chain.sections) if unit in units), None)
        for unit in chain.sections[at + 1 :] if at is not None else ():
            if unit.kind in LOCATION_KINDS and unit.statement is not None:
                tag = f"<{unit.statement.node.name} {unit.statement.args.strip()}>"
                later[f"`{tag}` at {_place(tree, unit.place)}"] = None
    if later:
        decides = "decides" if len(later) == 1 else "decide"
        yield f"alone this section admits every client, in both versions: {_listed([*later])} {decides} later"


def _of_cases(tree: ConfigTree, cases: Sequence[FileCase]) -> str:
    """Return which requests the <If> sections of a section are about, and why they are needed."""
    named = list(dict.fromkeys(_requests(tree, one) for one in cases))
    return (
        f"upgrade adds <If> for {_listed(named)}, with the whole decision of 2.2 about them: 2.2 merges "
        "Order, Satisfy and Require of all sections there one by one, 2.4 does not, and merges <If> last"
    )


def _requests(tree: ConfigTree, case: FileCase) -> str:
    """Return the files and the directory that an <If> is about."""
    sections = (one.statement for one in case.files)
    tags = [
        f"`<{line.node.name} {line.args.strip()}>` at {_place(tree, line.place)}" for line in sections if line
    ]
    files = f"the files of {' and '.join(tags)}" if tags else "requests"
    return files if case.holder is None else f"{files} in {directory_of(case.holder).rstrip('/')}"


def _of_repetitions(
    tree: ConfigTree, statement: Statement, repeats: Sequence[Repetition], *, in_holder: bool
) -> str:
    """Return where the edits repeat the section *statement*, and why; *in_holder*: in the sections that hold
    it."""
    named = list(dict.fromkeys(_target(tree, one, in_holder=in_holder) for one in repeats))
    holders = list(dict.fromkeys(_holder(tree, one) for one in repeats))
    where = _listed(named)
    tag = f"<{statement.node.name} {statement.args.strip()}>"
    requires = f"{holders[0]} requires" if len(holders) == 1 else "the sections there require"
    left_out = dict.fromkeys(other for one in repeats for other in one.without)
    names = [
        f"`<{one.statement.node.name} {one.statement.args.strip()}>`" for one in left_out if one.statement
    ]
    besides = f" but for the names of {_listed(names)}" if names else ""
    return (
        f"upgrade repeats `{tag}` {where}{besides}, with what {requires}: 2.2 admits the same clients "
        "there, and of several sections 2.4 takes the Require lines of the last alone"
    )


def _target(tree: ConfigTree, one: Repetition, *, in_holder: bool) -> str:
    """Return where a repetition stands."""
    if one.server is not None:
        return f"in the virtual host of {_place(tree, one.server.place)}"
    return f"in {_holder(tree, one)}" if in_holder else f"below itself for {one.prefix}"


def _holder(tree: ConfigTree, one: Repetition) -> str:
    """Return the .htaccess file, or the place of the section, below which the repeated lines decide."""
    path = display_path(one.holder.file.path, tree.top)
    return path if one.holder.in_htaccess else _place(tree, one.holder.place)


def _listed(places: Sequence[str]) -> str:
    """Return up to `MAX_PLACES` places; of more the first, and the number of the others."""
    if len(places) > MAX_PLACES:
        return f"{places[0]}{and_more(len(places) - 1)}"
    return " and ".join(places)


def _limits_that_go(lines: Lines, control: Lines) -> Iterator[str]:
    """Yield the tags of <Limit> and <LimitExcept> that *control*, which asks for methods, does not have."""
    if idle_limits(lines, control):
        return  # their finding says that they never decided
    left = {(line.name, _methods(line)) for line in control if line.name in LIMITS}
    for line in lines:
        if line.name in LIMITS and (line.name, _methods(line)) not in left:
            yield f"<{LIMITS[line.name]} {line.args.strip()}>"


def _methods(line: AccessLine) -> frozenset[str]:
    """Return the methods of a container; for httpd GET includes HEAD."""
    return frozenset(line.args.split()) - {"HEAD"}


def _place(tree: ConfigTree, place: SourceLocation) -> str:
    """Return the place of a line in the text before any edit."""
    original = tree.original_place(place)
    return f"{display_path(original.path, tree.top)}:{original.line}"
