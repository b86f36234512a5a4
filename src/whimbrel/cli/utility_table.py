"""Table of httpd's utilities.  Imports nothing heavy."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from whimbrel.utilities.options import UtilityProgram

# Utility -> its line in `whimbrel --help`.
UTILITIES: Final = {
    "ctl": "Start, stop and look after the server, as apachectl does.",
    "htpasswd": "Manage user files for basic authentication.",
    "htdbm": "Manage DBM files of users.",
    "htdigest": "Manage user files for digest authentication.",
    "httxt2dbm": "Make a DBM file of a text map for RewriteMap.",
    "rotatelogs": "Write a log piped to it into files, and change files in time.",
    "htcacheclean": "Clean, list and delete the entries of a disk cache.",
    "logresolve": "Put host names for the addresses in an access log.",
}


def utility(name: str, words: list[str]) -> int:
    """Run a utility; return its exit status."""
    from whimbrel.base.latin1 import from_system
    from whimbrel.utilities.options import exit_status

    module = "apachectl" if name == "ctl" else name
    run: Callable[[UtilityProgram], int] = import_module(f"whimbrel.cli.{module}").run
    return exit_status(run, name, [from_system(word) for word in words])
