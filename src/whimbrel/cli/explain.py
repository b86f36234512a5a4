"""`whimbrel explain`: explain a row of the table of changes, an AH code, a log line, a directive, a module or
a symptom.

Exit codes: 0 explained; 2 unknown.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from whimbrel.upgrade.documents.explain import Explanation

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
EXAMPLES = (
    "For example: C17, AH01797, AddOutputFilterByType, mod_authn_alias, 403, "
    "or a whole line of a log in quotes."
)


@app.command(epilog=EXAMPLES)
def explain(
    query: Annotated[
        list[str] | None,
        typer.Argument(metavar="WHAT", help="Row, code, log line, directive, module or symptom."),
    ] = None,
    listing: Annotated[
        bool,
        typer.Option(
            "--list",
            help="List rows and codes, or those that contain WHAT. Default: explain. Example: --list mod_ssl",
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON. Default: text. Example: --json C17")
    ] = False,
) -> None:
    """Explain a change from 2.2 to 2.4, a message, a directive or a module."""
    words = " ".join(query or [])
    if listing:
        _print_list(words, as_json)
        return
    if not words.strip():
        raise typer.BadParameter("say what is to be explained, or --list")
    from whimbrel.upgrade.documents.explain import explain as explain_query

    explanations = explain_query(words)
    if not explanations:
        _fail_unknown(words)
    if as_json:
        typer.echo(json.dumps([asdict(explanation) for explanation in explanations], indent=1))
    else:
        _print_explanations(explanations)


def _print_explanations(explanations: list[Explanation]) -> None:
    """Print Markdown: rendered on a terminal, as source elsewhere."""
    if not sys.stdout.isatty():
        typer.echo("\n".join(explanation.body for explanation in explanations), nl=False)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(no_color=bool(os.environ.get("NO_COLOR")) or None)
    for explanation in explanations:
        console.print(Markdown(explanation.body))


def _print_list(word: str, as_json: bool) -> None:
    from whimbrel.upgrade.documents.explain import search

    rows = search(word)
    if as_json:
        typer.echo(json.dumps([{"name": name, "title": title} for name, title in rows], indent=1))
    else:
        for name, title in rows:
            typer.echo(f"{name:8} {title}")
    if not rows:
        typer.echo(f"nothing has {word!r} in it", err=True)
        raise typer.Exit(2)


def _fail_unknown(words: str) -> None:
    from whimbrel.upgrade.documents.explain import suggestions

    close = suggestions(words)
    hint = f"; did you mean {', '.join(close)}?" if close else "; `whimbrel explain --list` shows what is"
    typer.echo(f"nothing is known about {words!r}{hint}", err=True)
    raise typer.Exit(2)
