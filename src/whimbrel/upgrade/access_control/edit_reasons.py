"""Why the new text of a section looks otherwise than its old lines: containers of methods that go, and
repetitions of the section in other places.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from whimbrel.access.layers import AccessLine
from whimbrel.base.counts import and_more
from whimbrel.base.errors import SourceLocation
from whimbrel.upgrade.access_control.analysis import AccessAnalysis
from whimbrel.upgrade.access_control.effective import LIMITS, flatten_directives, idle_limits
from whimbrel.upgrade.access_control.replacement import FILES, Lines, Repetition
from whimbrel.upgrade.access_control.sections import AccessSection
from whimbrel.upgrade.edits.diff import display_path
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement


def edit_reasons(tree: ConfigTree, analysis: AccessAnalysis, section: AccessSection) -> Iterator[str]:
    """Yield the reasons for what is not to be expected in the edits of *section*."""
    plan = analysis.plans[section]
    gone = list(_limits_that_go(section.access_lines, plan.control))
    if gone:
        named = ", ".join(f"`{tag}`" for tag in gone)
        asks = any("method" in line.args.lower().split()[:2] for line in flatten_directives(plan.control))
        stays = "the lines that stay decide about its methods as before"
        yield f"`Require method` has the place of {named}" if asks else f"{named} goes: {stays}"
    repeats = plan.replacement.repeats
    if repeats and section.statement is not None:
        yield _of_repetitions(tree, section.statement, repeats, in_holder=section.kind in FILES)


def _of_repetitions(
    tree: ConfigTree, statement: Statement, repeats: Sequence[Repetition], *, in_holder: bool
) -> str:
    """Return where the edits repeat the section *statement*, and why; *in_holder*: in the sections that hold
    it."""
    first = repeats[0]
    path = display_path(first.holder.file.path, tree.root)
    holder = path if first.holder.in_htaccess else _place(tree, first.holder.place)
    where = f"below itself for {first.prefix}"
    if first.server is not None:
        where = f"in the virtual host of {_place(tree, first.server.place)}"
    elif in_holder:
        where = f"in {holder}"
    tag = f"<{statement.node.name} {statement.args.strip()}>"
    return (
        f"upgrade repeats `{tag}` {where}{and_more(len(repeats) - 1)}, with what {holder} requires: "
        "of several sections 2.4 takes the Require lines of the last alone"
    )


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
    return f"{display_path(original.path, tree.root)}:{original.line}"
