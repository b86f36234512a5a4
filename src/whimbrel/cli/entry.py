"""Entry point of `whimbrel`: runs httpd's utilities directly, imports typer for all other subcommands.

The utilities parse their options as httpd's do, and start without the cost of importing typer.
"""

from __future__ import annotations

import os
import sys

from whimbrel.cli.utility_table import COMPLETION, UTILITIES, utility


def main() -> None:
    """Run the command of sys.argv and exit with its status; a Ctrl-C before the command runs ends it too."""
    try:
        _run()
    except KeyboardInterrupt:  # the modules of the command are still being imported
        from whimbrel.cli.interrupts import end_interrupted

        end_interrupted()


def _run() -> None:
    words = sys.argv[1:]
    if words and words[0] in UTILITIES and COMPLETION not in os.environ:
        sys.exit(utility(words[0], words[1:]))
    from whimbrel.cli.main import main as run_subcommand

    run_subcommand()
