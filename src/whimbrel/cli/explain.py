"""`whimbrel explain`: what a row of the upgrade, an AH code, a line of a log, a directive, a module or a symptom means, and what to do.

Exit codes: 0 explained; 2 nothing is known about it.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from whimbrel.upgrade.explaining import Explanation

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
EXAMPLES = "For example: C17, AH01797, AddOutputFilterByType, mod_authn_alias, 403, or a whole line of a log in quotes."


@app.command(epilog=EXAMPLES)
def explain(
    query: Annotated[
        list[str] | None,
        typer.Argument(metavar="WHAT", help="A row, code, line of a log, directive, module or symptom."),
    ] = None,
    listing: Annotated[
        bool,
        typer.Option(
            "--list",
            help="List rows and codes, or those that have WHAT in them. Default: explain. Example: --list mod_ssl",
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON. Default: text. Example: --json C17")
    ] = False,
) -> None:
    """Explain a change from 2.2 to 2.4, a message, a directive or a module."""
    words = " ".join(query or [])
    if listing:
        _list(words, as_json)
        return
    if not words.strip():
        raise typer.BadParameter("say what is to be explained, or --list")
    from whimbrel.upgrade.explaining import explain as look

    found = look(words)
    if not found:
        _unknown(words)
    if as_json:
        typer.echo(json.dumps([asdict(one) for one in found], indent=1))
    else:
        _show(found)


def _show(found: list[Explanation]) -> None:
    """Rendered on a terminal, as it is written elsewhere."""
    if not sys.stdout.isatty():
        typer.echo("\n".join(one.body for one in found), nl=False)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(no_color=bool(os.environ.get("NO_COLOR")) or None)
    for one in found:
        console.print(Markdown(one.body))


def _list(word: str, as_json: bool) -> None:
    from whimbrel.upgrade.explaining import listed

    found = listed(word)
    if as_json:
        typer.echo(json.dumps([{"name": name, "title": title} for name, title in found], indent=1))
    else:
        for name, title in found:
            typer.echo(f"{name:8} {title}")
    if not found:
        typer.echo(f"nothing has {word!r} in it", err=True)
        raise typer.Exit(2)


def _unknown(words: str) -> None:
    from whimbrel.upgrade.explaining import suggestions

    close = suggestions(words)
    hint = f"; did you mean {', '.join(close)}?" if close else "; `whimbrel explain --list` shows what is"
    typer.echo(f"nothing is known about {words!r}{hint}", err=True)
    raise typer.Exit(2)
