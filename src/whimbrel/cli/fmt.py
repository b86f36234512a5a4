"""whimbrel fmt: format configuration files in place."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Annotated, Final

import typer

from whimbrel.base.file_reading import read_regular
from whimbrel.base.file_writing import Tree
from whimbrel.base.latin1 import from_system, to_bytes, to_text
from whimbrel.base.printable import printable, printable_line
from whimbrel.catalogue import catalogue
from whimbrel.cli.help import HelpCommand, epilog
from whimbrel.cli.options import echo_line
from whimbrel.syntax.format import NotTheSame, formatted

EPILOG: Final = epilog(
    {0: "done", 1: "--check or --diff found files that would change", 2: "a file cannot be read"},
    ("whimbrel fmt --diff /etc/httpd/conf", "whimbrel fmt - < httpd.conf"),
)
app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

# Names that httpd's tables spell in another way than its manual.
_MANUAL = {
    "allow": "Allow",
    "deny": "Deny",
    "order": "Order",
    "cachefile": "CacheFile",
    "mmapfile": "MMapFile",
    "dav": "Dav",
    "davlockdb": "DavLockDB",
    "davmintimeout": "DavMinTimeout",
    "davdepthinfinity": "DavDepthInfinity",
    "davgenericlockdb": "DavGenericLockDB",
}


@app.command(cls=HelpCommand, epilog=EPILOG)
def fmt(
    files: Annotated[
        list[str],
        typer.Argument(help="Files, directories (their *.conf and .htaccess files), or -: standard input."),
    ],
    check: bool = typer.Option(
        False, "--check", help="List the files that would change, and exit with 1. Default: write them."
    ),
    indent: int = typer.Option(4, min=0, max=16, help="Indent each level by N blanks. Example: --indent 2"),
    diff: bool = typer.Option(
        False, "--diff", help="Print what would change, and exit with 1. Default: write the files."
    ),
    is_open: bool = typer.Option(
        False,
        "--outside",
        help="Write through links that leave the named directory, or the working directory of a named file. "
        "Default: refuse.",
    ),
) -> None:
    """Format configuration files: indentation, case of names, blank lines. Comments and meaning stay.

    Templates, damaged texts and texts that are no configuration of httpd are left as they are.
    """
    if files == ["-"]:
        raise typer.Exit(_filter(check, diff, indent))
    changed = 0
    failed = 0
    for path, tree in _expand(files, is_open):
        name = from_system(str(path))
        try:
            data = read_regular(bytes(path))
            refusal = refusal_of(data)
            if refusal:
                failed += 1
                echo_line(f"{name}: left as it is: {refusal}", is_error=True)
                continue
            formatted_data = formatted(data, spelled, indent=indent)
            if formatted_data == data:
                continue
            changed += 1
            if diff:
                _print_diff(name, data, formatted_data)
                continue
            if not check:
                _replace(path, tree, data, formatted_data)
            echo_line(f"{'would format' if check else 'formatted'} {name}")
        except NotTheSame:
            echo_line(f"{name}: left as it is: formatting would change what it says", is_error=True)
        except OSError as problem:
            failed += 1
            echo_line(f"{name}: {problem.strerror}", is_error=True)
    raise typer.Exit(2 if failed else int((check or diff) and changed > 0))


def refusal_of(data: bytes) -> str:
    """Return why *data* is not formatted, by the test of `check`, with its line; "" if it is."""
    from whimbrel.upgrade.source.text_faults import faults_and_template

    faults = faults_and_template(data)
    return f"line {faults[0].line}: {faults[0]}" if faults else ""


def _print_diff(name: str, old: bytes, new: bytes) -> None:
    from difflib import unified_diff

    before, after = (to_text(data).splitlines(keepends=True) for data in (old, new))
    shown = printable_line(name)
    lines = unified_diff(before, after, f"{shown} (old)", f"{shown} (formatted)")
    typer.echo(to_bytes(printable("".join(lines))), nl=False)


def spelled(name: str) -> str | None:
    """Return the manual's spelling of a directive's name, with ``<`` for sections."""
    return _spellings().get(name.lower()) if name.isascii() else None


@cache
def _spellings() -> dict[str, str]:
    rows = [*catalogue("2.2"), *catalogue("2.4")]
    return {row.name.lower(): row.name for row in rows} | _MANUAL


def _expand(files: list[str], is_open: bool) -> Iterator[tuple[Path, Tree]]:
    """Yield the files that the arguments name, those of a directory in order, each with the tree that holds
    all it may be a link to.
    """
    working = Path.cwd()
    for name in files:
        path = Path(name)
        if not path.is_dir():
            absolute = Path(os.path.abspath(path))
            top = working if absolute.is_relative_to(working) else absolute.parent
            yield path, Tree(bytes(top), is_open=is_open)
            continue
        tree = Tree(bytes(path), is_open=is_open)
        for where, below, names in os.walk(path):
            below.sort()
            for found in sorted(Path(where, each) for each in names):
                if (found.suffix == ".conf" or found.name == ".htaccess") and found.is_file():
                    yield found, tree


def _replace(path: Path, tree: Tree, old: bytes, new: bytes) -> None:
    """Write the file in one step; a link remains a link, mode and owner remain. Raises OSError."""
    with tree.place(bytes(path)) as place:
        if place.read()[0] != old:
            raise OSError(errno.EBUSY, "changed since it was read", path)
        place.replace(new)


def _filter(check: bool, diff: bool, indent: int) -> int:
    """Format standard input to standard output; text of another program goes through as it is, with 2."""
    data = sys.stdin.buffer.read()
    formatted_data = data
    refusal = refusal_of(data)
    if refusal:
        echo_line(f"left as it is: {refusal}", is_error=True)
    else:
        try:
            formatted_data = formatted(data, spelled, indent=indent)
        except NotTheSame:
            typer.echo("left as it is: formatting would change what it says", err=True)
    if diff and formatted_data != data:
        _print_diff("-", data, formatted_data)
    elif not (check or diff):
        sys.stdout.buffer.write(formatted_data)
        sys.stdout.flush()
    return 2 if refusal else int((check or diff) and formatted_data != data)
