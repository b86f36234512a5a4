"""`whimbrel example`: copy the example site out of the package, ready to be checked, upgraded and served.

The files of the package name the server root, the user and the group by variables, as a configuration of
Debian does. A copy has their values, so that every command reads it without an environment.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

import typer

from whimbrel.base.accounts import group_numbered, user_named
from whimbrel.base.file_writing import Tree, make_directories
from whimbrel.cli.help import HelpCommand, epilog

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

SITE: Final = Path(__file__).parents[1] / "examples/site-2.2"
"""The example site in the package: a server root of httpd 2.2."""
EMPTY_DIRECTORIES: Final = ("logs", "run")
"""Directories of a server root that no distribution can hold."""
_USERS: Final = ("www-data", "apache", "nobody")

Directory = Annotated[Path, typer.Argument(metavar="DIRECTORY", help="Where the copy is made.")]


@app.command(
    cls=HelpCommand,
    epilog=epilog(
        {0: "copied", 2: "wrong usage, or the copy cannot be written"},
        ("whimbrel example", "whimbrel example site && whimbrel check site"),
    ),
)
def example(directory: Directory = Path("site-2.2")) -> None:
    """Copy the example site, a server root of httpd 2.2, to DIRECTORY and name the next commands."""
    if os.path.lexists(directory) and (not directory.is_dir() or any(directory.iterdir())):
        raise typer.BadParameter(f"{directory} exists and is not empty", param_hint="DIRECTORY")
    root = directory.resolve()
    if unreadable := set('"\\\n$') & set(str(root)):
        raise typer.BadParameter(f"a path with {min(unreadable)!r} cannot be written here")
    try:
        copy_site(root)
    except OSError as problem:
        raise typer.BadParameter(f"{directory}: {problem.strerror}") from None
    typer.echo(f"{directory}: a web site for httpd 2.2. What upgrades it, and serves it on port 8080:")
    for line in walk(str(directory)):
        typer.echo(f"  {line}")


def walk(site: str) -> Iterator[str]:
    """Yield the commands that lead from the copy to a 2.4 server."""
    upgraded = f"{site}-2.4"
    yield f"whimbrel check {site}"
    yield f"whimbrel upgrade -d {site} --out {upgraded}"
    yield f"whimbrel verify {site} {upgraded}"
    yield f"whimbrel serve {upgraded}"


def copy_site(root: Path) -> None:
    """Copy the site to the absolute path *root*; raises OSError."""
    user, group = server_account()
    values = {b"${SITE_ROOT}": os.fsencode(root), b"${SITE_USER}": user, b"${SITE_GROUP}": group}
    make_directories(os.fsencode(root))
    tree = Tree(os.fsencode(root))
    for name in EMPTY_DIRECTORIES:
        make_directories(os.fsencode(root / name))
    for path in sorted(SITE.rglob("*")):
        if not path.is_file():
            continue
        data = path.read_bytes()
        if path.suffix == ".conf":
            for variable, value in values.items():
                data = data.replace(variable, value)
        with tree.place(os.fsencode(root / path.relative_to(SITE)), create=True) as place:
            place.create(data, None)


def server_account() -> tuple[bytes, bytes]:
    """Return the user and the group that workers get if the server is started by root."""
    for name in _USERS:
        try:
            account = user_named(name)
            return name.encode(), os.fsencode(group_numbered(account.pw_gid).gr_name)
        except KeyError:
            continue
    return b"#65534", b"#65534"
