"""`whimbrel schema`: print the JSON schema of a document that a command prints."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from whimbrel.cli.help import HelpCommand, epilog

EPILOG: Final = epilog(
    {0: "printed", 2: "unknown name"}, ("whimbrel schema", "whimbrel schema check > check.schema.json")
)
app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command(cls=HelpCommand, epilog=EPILOG)
def schema(
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="check, or check-1 for a version. Default: list all.")
    ] = "",
) -> None:
    """Print the JSON schema of the JSON that a command prints, or list the schemas."""
    from whimbrel.api.schemas import names, read

    if not name:
        typer.echo("\n".join(names()))
        return
    try:
        typer.echo(read(name), nl=False)
    except KeyError:
        typer.echo(f"{name}: no schema has this name; there are {', '.join(names())}", err=True)
        raise typer.Exit(2) from None
