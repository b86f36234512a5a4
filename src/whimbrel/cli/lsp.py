"""`whimbrel lsp`: a language server for editors, over standard input and output.

Exit codes: 0 ended by the editor; 1 the connection ended without a request to shut down; 2 wrong usage, or
the packages of the extra `lsp` are missing.
"""

from __future__ import annotations

import os
import sys
from typing import Final

import typer

from whimbrel.base.extras import not_installed
from whimbrel.base.product import REPOSITORY
from whimbrel.cli.help import HelpCommand, epilog
from whimbrel.cli.missing_extras import is_installed
from whimbrel.cli.options import EXIT_OK, EXIT_USAGE, encoded

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

SWITCH_INTERVAL: Final = 0.0005
"""Seconds after which the thread of checks lets an answer go first; Python's own is 5 ms."""
EXIT_BROKEN: Final = 1
EPILOG: Final = epilog(
    {
        0: "ended by the editor",
        1: "the connection ended without a request to shut down",
        2: "wrong usage, or the packages of the extra `lsp` are missing",
    },
    ("whimbrel lsp", "whimbrel lsp 2>lsp.log"),
    "An editor starts the command, for files *.conf and .htaccess. Settings of VS Code, Neovim, Emacs, Helix "
    f"and Kate: {REPOSITORY}/blob/main/editors/README.md. The setting "
    "whimbrel.mainFile names the main file of the server; without it, the nearest one is found.",
)


@app.command(cls=HelpCommand, epilog=EPILOG)
def lsp() -> None:
    """Serve editors: diagnostics, fixes, hover, completion, definitions, symbols, folding, formatting."""
    if not is_installed("pygls"):
        os.write(2, encoded(f"{not_installed('whimbrel lsp', 'lsp')}\n"))
        raise typer.Exit(EXIT_USAGE)
    from whimbrel.lsp.server import create_server

    sys.setswitchinterval(SWITCH_INTERVAL)
    server = create_server()
    output = sys.stdout.buffer
    sys.stdout = sys.stderr  # whatever else prints must not disturb the protocol
    server.start_io(sys.stdin.buffer, output)
    raise typer.Exit(EXIT_OK if server.is_shut_down else EXIT_BROKEN)
