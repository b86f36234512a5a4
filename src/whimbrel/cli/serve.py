"""`whimbrel serve`: run a configuration in the foreground, and print what changed since the version that it
was written for.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from whimbrel.base.builds import AUTO, NAMES
from whimbrel.base.product import COMPATIBLE
from whimbrel.base.programs import permit_programs
from whimbrel.cli.arguments import Arguments
from whimbrel.cli.options import Build

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.command()
def serve(
    file: Annotated[
        Path, typer.Option("-f", help="Read FILE as the main file. Example: -f conf/a.conf")
    ] = Path("conf/httpd.conf"),
    root: Annotated[
        Path | None,
        typer.Option("-d", help="Use this server root. Default: the parent of conf/. Example: -d ."),
    ] = None,
    defines: Annotated[list[str] | None, typer.Option("-D", help="Define NAME for <IfDefine>.")] = None,
    before: Annotated[list[str] | None, typer.Option("-C", help="Read DIRECTIVE before the file.")] = None,
    after: Annotated[list[str] | None, typer.Option("-c", help="Read DIRECTIVE after the file.")] = None,
    dialect: Annotated[
        str, typer.Option(help="Answer as 2.4, 2.2 or guide (the upgrade guide). Example: --dialect 2.2")
    ] = "2.4",
    envvars: Annotated[
        Path | None, typer.Option(help="Read shell variables from FILE first. Default: Debian's envvars.")
    ] = None,
    builtin: Build = AUTO,
    tls: Annotated[
        int | None,
        typer.Option(
            help="Serve HTTPS on 127.0.0.1:PORT with a new certificate for localhost.", metavar="PORT"
        ),
    ] = None,
) -> None:
    """Serve a configuration of httpd 2.4 or 2.2 in the foreground. Ctrl-C ends it."""
    if dialect not in COMPATIBLE:
        raise typer.BadParameter("the dialect must be 2.2, 2.4 or guide", param_hint="--dialect")
    if builtin not in NAMES:
        raise typer.BadParameter(f"the build must be one of {', '.join(NAMES)}", param_hint="--builtin")
    arguments = Arguments("whimbrel serve")
    arguments.root, arguments.file = root_and_file(file, root)
    arguments.defines, arguments.before, arguments.after = defines or [], before or [], after or []
    arguments.builtin = builtin
    arguments.dialect, arguments.envvars = dialect, str(envvars.resolve()) if envvars is not None else ""
    if tls is not None:
        from whimbrel.cli.self_signed import include_line  # needs an optional library

        arguments.after = [*arguments.after, include_line(tls)]
    arguments.log_words += [f"-d {arguments.root}", f"-f {arguments.file}"]
    raise typer.Exit(run(arguments))


def root_and_file(file: Path, root: Path | None) -> tuple[str, str]:
    """Return server root and file, absolute: a relative file is below *root*, else below the working
    directory.
    """
    if root is None:
        absolute = Path(os.path.abspath(file))
        directory = absolute.parent
        return str(directory.parent if directory.name == "conf" else directory), str(absolute)
    above = Path(os.path.abspath(root))
    return str(above), str(above / file)


def run(arguments: Arguments) -> int:
    """Read the configuration, print the notes, serve; return the exit status."""
    from rich.console import Console

    from whimbrel.base.errors import ConfigError, StartError
    from whimbrel.base.latin1 import from_system
    from whimbrel.cli import serve_banner
    from whimbrel.cli.config_loader import ConfigLoader, print_error
    from whimbrel.cli.version_text import built
    from whimbrel.server.master.master import Master, StartOptions

    permit_programs()
    console = Console(highlight=False, soft_wrap=True)
    for name in ("logs", "run"):
        try:
            os.makedirs(os.path.join(arguments.root, name), exist_ok=True)
        except OSError as problem:
            console.print(f"[yellow]can't make {problem.filename}: {problem.strerror}[/]")
    loader = ConfigLoader(arguments, is_silent=True)
    try:
        configuration = loader.load_to_serve()
        serve_banner.print_banner(console, configuration)
        shown = " ".join(map(from_system, arguments.log_words))
        master = Master(
            StartOptions(
                loader.load_to_serve,
                shown,
                built=built(),
                ready=lambda: serve_banner.print_urls(console, configuration),
            )
        )
        master.prepare(configuration)
    except (ConfigError, StartError) as problem:
        loader.is_silent = False
        loader.print_messages()
        return print_error(problem, loader)
    return master.run()
