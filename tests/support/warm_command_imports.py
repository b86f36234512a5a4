"""What a command has imported and read when it works: `warm_command` forks such a process.

An upgrade of the example site and its comparison fill the tables that commands build from files of the
package: the catalogues, the rules, the grammar of expressions. What else commands import is learned from
forks that run them: a command may confine itself, and ends its process.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.cli.example import copy_site
from whimbrel.cli.main import app
from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import UpgradeOptions
from whimbrel.upgrade.source.reading import Sources, read_config_tree
from whimbrel.verify.loading import load_sides
from whimbrel.verify.verify import verify

COMMANDS: Final = "check entry explain fmt httpd main replay rewrite_test upgrade verify".split()
VERSIONS: Final = ("2.2", "2.4")
LEARNED: Final = (("check", "fragment.conf"), ("verify", "site", "site"))
"""Commands whose forks import what most commands do."""


def _imported_by(words: Sequence[str], directory: Path) -> list[str]:
    """Return the names of all modules of a fork that has run a command."""
    reading, writing = os.pipe()
    if not (child := os.fork()):
        os.chdir(directory)
        nothing = os.open(os.devnull, os.O_RDWR)
        for handle in range(3):
            os.dup2(nothing, handle)
        with contextlib.suppress(BaseException):
            app(list(words), prog_name="whimbrel")
        with open(writing, "w", encoding="utf-8") as names:
            names.write("\n".join(sys.modules))
        os._exit(0)
    os.close(writing)
    with open(reading, encoding="utf-8") as names:
        found = names.read().split("\n")
    os.waitpid(child, 0)
    return found


def _import_all_of(words: Sequence[str], directory: Path) -> None:
    """Import what a command imports."""
    for name in _imported_by(words, directory):
        if name and name not in sys.modules:
            with contextlib.suppress(ImportError):  # a module without a file
                import_module(name)


def _warm() -> None:
    for name in COMMANDS:
        import_module(f"whimbrel.cli.{name}")
    with TemporaryDirectory() as name:
        copy_site(Path(name, "site"))
        options = LoadOptions(server_root=f"{name}/site")
        result = upgrade(read_config_tree(Sources(options=options), UpgradeOptions()))
        new = replace(options, overlay=result.files)
        verify(*load_sides((options, new), VERSIONS, VERSIONS), limit=10)
        Path(name, "fragment.conf").write_text("Listen 80\nOrder allow,deny\n")
        for words in LEARNED:
            _import_all_of(words, Path(name))
    gc.collect()
    gc.freeze()  # a collection of a fork would copy the pages of all objects


_warm()
