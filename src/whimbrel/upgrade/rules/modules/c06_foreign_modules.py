"""C06: third-party modules must be built for 2.4. Document: documents/C06-foreign-modules.md"""

from __future__ import annotations

import os
from collections.abc import Iterator

from whimbrel.base.latin1 import to_bytes
from whimbrel.catalogue import catalogue
from whimbrel.catalogue.other_releases import FOR_WINDOWS, OTHER_RELEASES
from whimbrel.catalogue.third_party import product_of
from whimbrel.upgrade.files.shared_objects import ModuleFile, examine
from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules.modules.php import OLD_TESTS, newest_module
from whimbrel.upgrade.rules.modules.x24_successors import is_known
from whimbrel.upgrade.rules.process.c53_older_than_22 import MODULES as OLDER
from whimbrel.upgrade.source.built_in_modules import is_windows
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield every LoadModule line of a third-party module, unless its file exists and was built for 2.4.

    A server on Windows has the modules of httpd for Windows.

    A module of PHP gives way to the one for 2.4 in the same directory.
    """
    known = {row.identifier for version in ("2.2", "2.4") for row in catalogue(version).modules}
    for line in tree.named("loadmodule"):
        words = line.words()
        if len(words) != 2 or words[0] in known or is_known(words[0]) or words[0] in OLDER:
            continue
        if OTHER_RELEASES.get(words[0]) == FOR_WINDOWS and is_windows(tree):
            continue
        path = tree.module_file(words[1])
        module_file = examine(path) if os.path.isfile(to_bytes(path)) else None
        if module_file is None or module_file.api != "2.4":
            is_php = words[0] in OLD_TESTS and bool(path)
            successor = newest_module(os.path.dirname(path)) if is_php else None
            if successor is None:
                yield _finding(line, words[0], words[1], module_file)
            else:
                yield _replacement(line, words, *successor)


def _replacement(line: Statement, words: list[str], identifier: str, name: str) -> Finding:
    file = words[1].rpartition("/")
    return Finding(
        "C06",
        line.place,
        f"{words[0]} is a third-party module: 2.4 refuses a file that was built for 2.2",
        f"load {name}, which was built for 2.4 and is in the same directory; test the scripts with it",
        Risk.BREAKS,
        Safety.REVIEW,
        (line.replace_args(f"{identifier} {file[0]}{file[1]}{name}"),),
    )


def _finding(line: Statement, name: str, path: str, module_file: ModuleFile | None) -> Finding:
    built = "" if module_file is None else f" ({module_file.text})"
    if name in OTHER_RELEASES:
        return Finding(
            "C06",
            line.place,
            f"{name} is a module of httpd {OTHER_RELEASES[name]}, which 2.4 does not install here: it "
            f"refuses {path} if it was built for 2.2{built}",
            "remove the line, or build the module with 2.4",
            Risk.BREAKS,
        )
    known = product_of(name)
    what = f"; {known.name}: {known.successor}" if known is not None else ""
    return Finding(
        "C06",
        line.place,
        f"{name} is a third-party module: 2.4 refuses {path} if it was built for 2.2{built}",
        f"install a build for 2.4 (API 20120211), or remove the line{what}",
        Risk.BREAKS,
    )


RULE = Rule("C06", "foreign-modules", "Modules of other origin must be built anew", check)
