"""What a command has imported and read when it works: `warm_command` forks such a process.

An upgrade of the example site and its comparison fill the tables that commands build from files of the
package: the catalogues, the rules, the grammar of expressions.
"""

from __future__ import annotations

import gc
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.cli.example import copy_site
from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import UpgradeOptions
from whimbrel.upgrade.source.reading import Sources, read_config_tree
from whimbrel.verify.loading import load_sides
from whimbrel.verify.verify import verify

COMMANDS: Final = "check entry explain fmt httpd main replay rewrite_test upgrade verify".split()
VERSIONS: Final = ("2.2", "2.4")


def _warm() -> None:
    for name in COMMANDS:
        import_module(f"whimbrel.cli.{name}")
    with TemporaryDirectory() as name:
        copy_site(Path(name, "site"))
        options = LoadOptions(server_root=f"{name}/site")
        result = upgrade(read_config_tree(Sources(options=options), UpgradeOptions()))
        new = replace(options, overlay=result.files)
        verify(*load_sides((options, new), VERSIONS, VERSIONS), limit=10)
    gc.collect()
    gc.freeze()  # a collection of a fork would copy the pages of all objects


_warm()
