"""Explanations as trees of all steps, one or two side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import StringIO
from itertools import groupby
from operator import attrgetter
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from whimbrel.base.rich_console import file_console
from whimbrel.base.terminal_text import shown
from whimbrel.explain.changes import ChangedStep, changed_steps
from whimbrel.explain.step import ExplanationStep, RequestExplanation
from whimbrel.explain.text import place_of

SUBREQUEST: Final = "sub-request"
MAX_SUBREQUESTS: Final = 3
"""Sub-requests, one after the other, of which a folded tree shows the steps."""
COLORS = {
    "denied": "red",
    "granted": "green",
    "no match": "dim",
    "not described": "dim",
    "does not exist": "red",
}


def tree(explanation: RequestExplanation, root: str = "", *, is_folded: bool = False) -> Tree:
    """Return the tree of an explanation; *root* is the server root. With *is_folded* the sub-requests of a
    listing are a number.
    """
    top = Tree(Text(shown(headline(explanation)), style="bold"), guide_style="dim")
    for error in explanation.errors:
        top.add(Text("\n".join(map(shown, error.split("\n"))), style="red"))
    for step in folded(explanation.steps) if is_folded else explanation.steps:
        _add(top, step, root)
    return top


def folded(steps: Iterable[ExplanationStep]) -> Iterator[ExplanationStep]:
    """Yield *steps* with one in the place of more than MAX_SUBREQUESTS that follow each other."""
    for kind, group in groupby(steps, attrgetter("kind")):
        run = list(group)
        if kind != SUBREQUEST or len(run) <= MAX_SUBREQUESTS:
            yield from run
        else:
            yield ExplanationStep("sub-requests", f"{len(run):,}", detail="--all shows them")


def headline(explanation: RequestExplanation) -> str:
    """Return the request with its result."""
    if explanation.errors:
        result = "the configuration does not load"
    elif explanation.status is None:
        result = "the handler decides"
    else:
        result = str(explanation.status)
        result += f" to {explanation.location}" if explanation.location else ""
    return f"{explanation.request}: {result} ({explanation.dialect})"


def _add(parent: Tree, step: ExplanationStep, root: str) -> None:
    branch = parent.add(_label(step, root))
    for child in step.children:
        _add(branch, child, root)


def _label(step: ExplanationStep, root: str) -> Text:
    text = Text()
    if step.kind != step.what:
        text.append(shown(f"{step.kind}: "), style="cyan")
    text.append(shown(step.what))
    if step.result:
        text.append(": ")
        text.append(shown(step.result), style=COLORS.get(step.result, "bold"))
    if step.detail:
        text.append(shown(f" ({step.detail})"), style="dim")
    for line in step.lines:
        text.append("\n    " + shown(place_of(line, root)), style="magenta")
        if line.text and line.text != step.what:
            text.append(shown(f"  {line.text}"))
    return text


def side_by_side(
    old: RequestExplanation,
    new: RequestExplanation,
    names: tuple[str, str],
    root: str = "",
    *,
    is_folded: bool = False,
) -> RenderableType:
    """Return both trees beside each other, and below them the steps that differ."""
    table = Table(expand=True, show_lines=False)
    for name in names:
        table.add_column(name, ratio=1, overflow="fold")
    table.add_row(tree(old, root, is_folded=is_folded), tree(new, root, is_folded=is_folded))
    if old.errors or new.errors:
        return table
    return Group(table, *_change_lines(changed_steps(old, new), names, root))


def _change_lines(
    changes: Iterable[ChangedStep], names: tuple[str, str], root: str
) -> Iterator[RenderableType]:
    found = list(changes)
    yield Text("no step differs" if not found else f"steps that differ: {len(found)}", style="bold")
    for change in found:
        for name, step in zip(names, (change.old, change.new), strict=True):
            label = Text("nothing", style="dim") if step is None else _label(step, root)
            yield Text(f"  {name}: ", style="cyan") + label


def rendered(drawing: RenderableType, width: int, *, is_colored: bool) -> str:
    """Return what rich draws as text; a pipe has PLAIN_WIDTH columns."""
    output = StringIO()
    file_console(output, is_colored=is_colored, width=min(width, PLAIN_WIDTH)).print(drawing)
    return output.getvalue()


PLAIN_WIDTH: Final = 200
"""Columns of a drawing where standard output is no terminal."""
