"""The `whimbrel` command's first look at its words: httpd's utilities are called without the command line machinery that the others need.

They read their words as httpd's do, which no option parser for subcommands can, and start as quickly.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Final

# What httpd ships beside the server -> what it is for.
UTILITIES: Final = {
    "ctl": "Start, stop and look after the server, as apachectl does.",
    "htpasswd": "Manage user files for basic authentication.",
    "htdbm": "Manage DBM files of users.",
    "htdigest": "Manage user files for digest authentication.",
    "httxt2dbm": "Make a DBM file of a text map for RewriteMap.",
    "rotatelogs": "Write a log piped to it into files, and change files in time.",
    "logresolve": "Put host names for the addresses in an access log.",
}


def main() -> None:
    """The console script."""
    words = sys.argv[1:]
    if words and words[0] in UTILITIES:
        sys.exit(utility(words[0], words[1:]))
    from whimbrel.cli.main import main as others

    others()


def utility(name: str, words: list[str]) -> int:
    """Run a utility; its exit status."""
    from whimbrel.base.latin1 import from_system
    from whimbrel.utilities.options import exit_status

    module = "apachectl" if name == "ctl" else name
    run = import_module(f"whimbrel.cli.{module}").run
    return exit_status(run, name, [from_system(word) for word in words])
