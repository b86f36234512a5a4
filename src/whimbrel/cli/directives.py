"""whimbrel directives: list the directives of httpd that are checked but have no behaviour yet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Final

import typer

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.catalogue import catalogue
from whimbrel.catalogue.ignorable import SERVER, ignorable_table
from whimbrel.cli.help import HelpCommand, epilog
from whimbrel.directives.spec import Versions
from whimbrel.modules import ALL

EPILOG: Final = epilog(
    {0: "listed", 2: "wrong usage"}, ("whimbrel directives", "whimbrel directives --version 2.2 --json")
)
app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@dataclass(frozen=True, slots=True)
class Missing:
    """Directive without behaviour;

    *left_out* is the reason why a server starts with it, "" if it never does.
    """

    module: str
    directive: str
    left_out: str


@app.command(cls=HelpCommand, epilog=EPILOG)
def directives(
    version: str = typer.Option(
        "2.4", help="List the directives of this httpd, 2.2 or 2.4. Example: --version 2.2"
    ),
    as_json: bool = typer.Option(False, "--json", help="Print a JSON list. Default: text. Example: --json"),
) -> None:
    """List the directives without behaviour.

    -t checks them; a start with one of them is refused, or logs a warning.
    """
    if version not in ("2.2", "2.4"):
        raise typer.BadParameter("the version must be 2.2 or 2.4")
    missing_directives = list(missing(version))
    if as_json:
        typer.echo(json.dumps([asdict(entry) for entry in missing_directives], indent=2))
        return
    module = ""
    for entry in missing_directives:
        if entry.module != module:
            module = entry.module
            typer.echo(module)
        typer.echo(f"  {entry.directive}" + (f"  (left out: {entry.left_out})" if entry.left_out else ""))
    total = sum(1 for _ in catalogue(version))
    typer.echo(f"{len(missing_directives)} of {total} directives of {version} have no behaviour")


def missing(version: str) -> Iterator[Missing]:
    """Return the directives without behaviour in the order of the modules."""
    version_catalogue = catalogue(version)
    bit = Versions.V22 if version == "2.2" else Versions.V24
    for module in version_catalogue.modules:
        built = ALL.get(module.file)
        if built is not None and not built.versions & bit:
            built = None
        for row in version_catalogue.module_rows(module.source):
            if built is None or built.setter(row.name) is None or row.name in built.unimplemented:
                yield Missing(module.source, row.name, left_out(module.source, row.name))


def left_out(source: str, name: str) -> str:
    """Return the reasons of ignorable.tsv for *name*, with the arguments to which they apply."""
    reasons = []
    for line in ignorable_table().get(source, ()):
        if line.names and any(
            name.lower() == pattern or (pattern[-1] == "*" and name.lower().startswith(pattern[:-1]))
            for pattern in line.names
        ):
            if not line.reason or any(module in ALL or module == SERVER for module in line.unless):
                break
            reasons.append(f"with {line.args.pattern}: {line.reason}" if line.args else line.reason)
    return "; ".join(reasons)
