"""C13: DefaultType has no effect.  Document: documents/C13-default-type.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.edits.helpers import insert_for_server, replace_statement
from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree, Role, Statement
from whimbrel.upgrade.source.queries import BRANCH_SECTIONS, is_in_main_server, server_of, was_24_config


def line_for(kind: str) -> str:
    """Return the Header line that sets this type on responses without one."""
    return f'Header set Content-Type "{kind}" "expr=-z %{{CONTENT_TYPE}}"'


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield every DefaultType but `none`, and the default of a server without one, which --exact writes."""
    lines = list(tree.named("defaulttype"))
    for line in lines:
        kind = "".join(line.words()[:1])
        if kind.lower() != "none":
            is_only_type = not any(_meets(line, other) for other in lines)
            yield _finding(tree, line, kind, is_only_type=is_only_type)
    if not was_24_config(tree) and not any(map(is_in_main_server, lines)):
        yield from _unset_default(tree)


def _meets(line: Statement, other: Statement) -> bool:
    """Return True if a request may get both lines, and the Header line for *line* changes what *other* gives.

    2.2 takes the innermost DefaultType, and Header lines are asked from the outside in. A host has its own
    lines and those of the main server alone. `DefaultType None` has no Header line, so outside it changes
    nothing.
    """
    if other.args.strip().lower() == line.args.strip().lower():
        return False
    hosts = server_of(line), server_of(other)
    if None not in hosts and hosts[0] is not hosts[1]:
        return False
    is_none = "".join(other.words()[:1]).lower() == "none"
    return not (is_none and _depth(other) < _depth(line))


def _depth(line: Statement) -> int:
    """Return 0 for a line of the main server, 1 for one of a host, 2 for one of a directory or a file."""
    is_server = line.file.role is not Role.HTACCESS and all(
        section.name in ("<virtualhost", *BRANCH_SECTIONS) for section in line.enclosing()
    )
    if not is_server:
        return 2
    return 0 if server_of(line) is None else 1


def _finding(tree: ConfigTree, line: Statement, kind: str, *, is_only_type: bool) -> Finding:
    """Return the finding; *is_only_type*: no other line sets another type, which this Header line would
    replace."""
    if kind.lower().startswith("application/x-httpd") or any(
        action.words()[:1] == [kind] for action in tree.named("action")
    ):
        return Finding(
            "C13",
            line.place,
            (
                "DefaultType has no effect; 2.2 chose the handler for files without an extension by "
                f"the type {kind}"
            ),
            "write SetHandler for these files",
        )
    what = "DefaultType has no effect: files with unknown extensions have no Content-Type"
    advice = f"the Header line gives them the type {kind}, as 2.2 did"
    if not is_only_type:
        what += "; where several types apply, the outer one is set first"
        advice = (
            f"the Header line gives them the type {kind} where no outer one has given them another; 2.2 took "
            f"the innermost: where two apply, write ForceType {kind} in a <Files> section for these files"
        )
    return Finding(
        "C13",
        line.place,
        what,
        advice,
        Risk.CHANGES,
        Safety.SAFE if is_only_type else Safety.REVIEW,
        replace_statement(tree, line, [line_for(kind)]),
    )


def _unset_default(tree: ConfigTree) -> Iterator[Finding]:
    if any(
        "expr=-z %{CONTENT_TYPE}" in line.args for line in tree.named("header") if is_in_main_server(line)
    ):
        return
    place = insert_for_server(tree, [line_for("text/plain")])
    if place is None or place[0].file.role is not Role.MAIN:
        return
    if tree.options.exact:
        yield Finding(
            "C13",
            place[0].place,
            "files with unknown extensions have no Content-Type; 2.2 sent text/plain",
            "the Header line gives them the type text/plain, as 2.2 did",
            Risk.CHANGES,
            Safety.SAFE,
            (place[1],),
        )
        return
    yield Finding(
        "C13",
        place[0].place,
        "no DefaultType is set: files with unknown extensions have no Content-Type; 2.2 sent text/plain",
        f"leave the type to browsers, or write `{line_for('text/plain')}` (--exact)",
        Risk.COSMETIC,
    )


RULE = Rule("C13", "default-type", "DefaultType has no effect", check)
