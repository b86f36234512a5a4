"""`whimbrel lsp`: a language server for editors, over standard input and output or a port of the loopback.

Exit codes: 0 ended by the editor; 1 the connection ended without a request to shut down; 2 wrong usage, or
the packages of the extra `lsp` are missing.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated, Final

import typer

from whimbrel.base.extras import not_installed
from whimbrel.cli.help import HelpCommand, epilog
from whimbrel.cli.missing_extras import is_installed
from whimbrel.cli.options import EXIT_OK, EXIT_USAGE, encoded

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

LOOPBACK: Final = "127.0.0.1"
MAX_PORT: Final = 65535
SWITCH_INTERVAL: Final = 0.0005
"""Seconds after which the thread of checks lets an answer go first; Python's own is 5 ms."""
EXIT_BROKEN: Final = 1
EPILOG: Final = epilog(
    {
        0: "ended by the editor",
        1: "the connection ended without a request to shut down",
        2: "wrong usage, or the packages of the extra `lsp` are missing",
    },
    ("whimbrel lsp", "whimbrel lsp --tcp 2087"),
    "An editor starts the command; docs/editors.md has the settings of several. The setting "
    "whimbrel.mainFile names the main file of the server; without it, the nearest one is found.",
)


@app.command(cls=HelpCommand, epilog=EPILOG)
def lsp(
    port: Annotated[
        int | None,
        typer.Option(
            "--tcp",
            min=1,
            max=MAX_PORT,
            metavar="PORT",
            help="Listen on this port of 127.0.0.1 for one editor. Default: standard input and output. "
            "Example: --tcp 2087",
        ),
    ] = None,
) -> None:
    """Serve editors: diagnostics, fixes, hover, completion, definitions, symbols, folding, formatting."""
    if not is_installed("pygls"):
        os.write(2, encoded(f"{not_installed('whimbrel lsp', 'lsp')}\n"))
        raise typer.Exit(EXIT_USAGE)
    from whimbrel.lsp.server import create_server

    sys.setswitchinterval(SWITCH_INTERVAL)
    server = create_server()
    if port is not None:
        try:
            server.start_tcp(LOOPBACK, port)
        except OSError as problem:
            os.write(2, encoded(f"{LOOPBACK}:{port}: {problem.strerror}\n"))
            raise typer.Exit(EXIT_USAGE) from None
    else:
        output = sys.stdout.buffer
        sys.stdout = sys.stderr  # whatever else prints must not disturb the protocol
        server.start_io(sys.stdin.buffer, output)
    raise typer.Exit(EXIT_OK if server.is_shut_down else EXIT_BROKEN)
