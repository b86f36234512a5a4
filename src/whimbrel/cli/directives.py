"""whimbrel directives: every directive of httpd that Whimbrel judges but does not yet act on, and why some of them may be left out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

import typer

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.catalogue import catalogue
from whimbrel.catalogue.ignorable import SERVER, ignorable_table
from whimbrel.directives.spec import Versions
from whimbrel.modules import ALL

app = typer.Typer(add_completion=False)


@dataclass(frozen=True, slots=True)
class Missing:
    """One directive without behaviour; *left_out* says when and why a server starts all the same, "" where it never does."""

    module: str
    directive: str
    left_out: str


@app.command()
def directives(
    version: str = typer.Option("2.4", help="The httpd whose directives are meant: 2.2 or 2.4."),
    as_json: bool = typer.Option(False, "--json", help="Print a JSON list."),
) -> None:
    """List the directives without behaviour: -t judges them, a start on one of them is refused or goes on with a warning."""
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
    typer.echo(
        f"{len(missing_directives)} of {sum(1 for _ in catalogue(version))} directives of {version} have no behaviour"
    )


def missing(version: str) -> Iterator[Missing]:
    """The directives without behaviour in the order of the modules."""
    version_catalogue = catalogue(version)
    bit = Versions.V22 if version == "2.2" else Versions.V24
    for module in version_catalogue.modules:
        built = ALL.get(module.file)
        implemented = set()
        if built is not None and built.versions & bit:
            implemented = {
                d.name.lower()
                for d in built.directives
                if d.versions & bit and d.name not in built.unimplemented
            }
        for row in version_catalogue.module_rows(module.source):
            if row.name.lower() not in implemented:
                yield Missing(module.source, row.name, left_out(module.source, row.name))


def left_out(source: str, name: str) -> str:
    """The reasons of ignorable.tsv for *name*, with the arguments that they are about."""
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
