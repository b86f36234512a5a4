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


COMPLETION: Final = "_WHIMBREL_COMPLETE"
"""Variable of the shell functions that complete words: source_bash prints one, complete_bash the words."""
HELP: Final = "--help"


def utility(name: str, words: list[str]) -> int:
    """Run a utility, or print its help for the one word `--help`; return the exit status.

    httpd's utilities take `--help` for a wrong option or for an operand. The programs that have their names
    (`whimbrel-htpasswd` ...) do so too.
    """
    from whimbrel.base.latin1 import from_system
    from whimbrel.utilities.options import exit_status, write_stdout

    if words == [HELP]:
        write_stdout(f"{UTILITIES[name]}\n\n{utility_usage(name)}")
        return 0
    module = "apachectl" if name == "ctl" else name
    run: Callable[[UtilityProgram], int] = import_module(f"whimbrel.cli.{module}").run
    return exit_status(run, name, [from_system(word) for word in words])


def utility_usage(name: str) -> str:
    """Return what a utility prints about its options."""
    if name == "ctl":
        from whimbrel.cli.apachectl import usage

        return usage("whimbrel ctl")
    from whimbrel.utilities import usage as usages

    text: str = getattr(usages, name.upper())
    return text.replace("@PATH@", name)
