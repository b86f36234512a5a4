"""C06: third-party modules must be built for 2.4. Document: documents/C06-foreign-modules.md"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Final

from whimbrel.base.counts import and_more
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.catalogue import catalogue
from whimbrel.catalogue.handlers import modules_of
from whimbrel.catalogue.other_releases import FOR_WINDOWS, OTHER_RELEASES
from whimbrel.catalogue.third_party import product_of
from whimbrel.upgrade.edits.diff import display_path
from whimbrel.upgrade.files.mpm_branches import is_of_other_mpm
from whimbrel.upgrade.files.shared_objects import ModuleFile, examine
from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules.modules.php import OLD_TESTS, ONLY_24, SETTINGS, newest_module
from whimbrel.upgrade.rules.modules.x24_successors import is_known
from whimbrel.upgrade.rules.process.c53_older_than_22 import MODULES as OLDER
from whimbrel.upgrade.source.built_in_modules import is_windows
from whimbrel.upgrade.source.config_tree import ConfigTree, Role, Statement
from whimbrel.upgrade.source.queries import lines_for_24

_BY_ENDING: Final = ("addhandler", "addtype")
_NAMING: Final = (*_BY_ENDING, "sethandler", "forcetype")
"""Directives that give files a handler, or a type that is one."""
REMOVED: Final = "or remove the line"
FPM: Final = '"proxy:unix:/run/php/php-fpm.sock|fcgi://localhost"'
"""The handler that hands files to PHP-FPM."""
FPM_MODULES: Final = "proxy_module and proxy_fcgi_module"
PHP_LIBRARIES: Final = frozenset(("libphp", "libphp5", "libphp7"))
_RENAMED: Final = frozenset(("php4_module", "php5_module"))
"""Names that no library for PHP 7 and 8 has: httpd ends its start at a LoadModule line with them."""
MAX_LINES: Final = 3
"""Lines that an advice names."""


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield every LoadModule line of a third-party module, unless its file exists and was built for 2.4, or
    its name is one of 2.4 alone and the file is not here.

    A server on Windows has the modules of httpd for Windows.

    A line for another MPM than that of 2.4 is not read. A module of PHP gives way to the one for 2.4 in the
    same directory.
    """
    known = {row.identifier for version in ("2.2", "2.4") for row in catalogue(version).modules}
    for line in tree.named("loadmodule"):
        words = line.words()
        if len(words) != 2 or words[0] in known or is_known(words[0]) or words[0] in OLDER:
            continue
        if OTHER_RELEASES.get(words[0]) == FOR_WINDOWS and is_windows(tree):
            continue
        if is_of_other_mpm(tree, line):
            continue
        path = tree.module_file(words[1])
        module_file = examine(path) if os.path.isfile(to_bytes(path)) else None
        if module_file is None and words[0] in ONLY_24:
            continue
        if module_file is None or module_file.api != "2.4":
            is_php = words[0] in OLD_TESTS and bool(path)
            successor = newest_module(os.path.dirname(path)) if is_php else None
            if successor is None:
                finding = _finding(tree, line, words[0], words[1], module_file)
            else:
                finding = _replacement(line, words, *successor, has_file=module_file is not None)
            is_proven = module_file is not None and module_file.api != ""
            yield replace(finding, is_proven=is_proven, accepted=f"{words[1]} is built for 2.4")


def _replacement(line: Statement, words: list[str], identifier: str, name: str, *, has_file: bool) -> Finding:
    """Return the finding about a library of PHP that gives way to *name*; *has_file*: it exists too."""
    file = words[1].rpartition("/")
    written = f"{identifier} {file[0]}{file[1]}{name}"
    fact = f"2.4 refuses {words[1]}" if has_file else f"{words[1]} is not here"
    return Finding(
        "C06",
        line.place,
        f"{words[0]} is a third-party module: {fact}",
        f"load {name}, which was built for 2.4 and is in the same directory; test the scripts with it",
        Risk.BREAKS,
        Safety.REVIEW,
        (line.replace_args(written),),
        decision=f"Do the scripts run with {name}, the PHP that 2.4 loads in the place of {words[1]}?",
        answers=(
            f"yes: upgrade writes `LoadModule {written}`",
            "not known: test the scripts before 2.4 serves them; `whimbrel verify` names it until then",
            "no: correct the new text by hand",
        ),
    )


def _finding(
    tree: ConfigTree, line: Statement, name: str, path: str, module_file: ModuleFile | None
) -> Finding:
    what_24_does = f"2.4 refuses {path} ({module_file.text})" if module_file is not None else _unread(path)
    if name in OTHER_RELEASES:
        return Finding(
            "C06",
            line.place,
            f"{name} is a module of httpd {OTHER_RELEASES[name]}, which 2.4 does not install here: "
            f"{what_24_does}",
            "remove the line, or build the module with 2.4",
            Risk.BREAKS,
        )
    known = product_of(name)
    removal = _removal(tree, path)
    what = f"; {known.name}: {known.successor}" if known is not None and removal == REMOVED else ""
    renamed = "; of PHP 8: LoadModule php_module" if name in _RENAMED else ""
    build = f"install a build for 2.4 (API 20120211{renamed})"
    advice = f"{build}, {removal}{what}"
    short = advice
    if removal != REMOVED:
        settings = _settings(tree) if name in OLD_TESTS else ""
        short = f"{build}; without the line 2.4 sends source{settings}: `whimbrel explain C06` has what helps"
    elif what:
        short = f"{build}, or remove the line; `whimbrel explain C06` has what goes with that"
    is_open = module_file is None or not module_file.api
    return Finding(
        "C06",
        line.place,
        f"{name} is a third-party module: {what_24_does}",
        advice,
        Risk.BREAKS,
        decision=f"Is {path} built for 2.4?" if is_open else "",
        answers=("yes: # whimbrel: ignore[C06] above the line", f"no: {short}") if is_open else (),
    )


def _unread(path: str) -> str:
    """Return what is known of a library that is not here, and how the person who knows more says it."""
    return f"{path} is not here: whether it is built for 2.4 is not known; if it is: # whimbrel: ignore[C06]"


def _removal(tree: ConfigTree, path: str) -> str:
    """Return the advice to remove the LoadModule line of the library *path*, with what goes with it: files
    whose handler nothing implements are sent as they are.
    """
    library = re.sub(r"^(libphp[57]?)[\d.]*$", r"\1", path.rpartition("/")[2].removesuffix(".so"))
    users = [line for line in lines_for_24(tree, *_NAMING) if library in modules_of(_handler_of(line), "2.4")]
    if not users:
        return REMOVED
    named = [f"{line.node.name} {_as_read(tree, line)}" for line in users]
    more = f" and {len(named) - MAX_LINES} more" if len(named) > MAX_LINES else ""
    endings = dict.fromkeys(word for line in users for word in line.words()[1:] if line.name in _BY_ENDING)
    files = f"{', '.join(endings)} files" if endings else "the files of this handler"
    other = f"SetHandler {FPM}, with {FPM_MODULES} loaded," if library in PHP_LIBRARIES else "another handler"
    return (
        f"or write {other} for {files} in the place of the line and of {', '.join(named[:MAX_LINES])}{more} "
        "(`whimbrel explain C06` has more): alone, the removal makes 2.4 send their source"
    )


def _settings(tree: ConfigTree) -> str:
    """Return that 2.4 answers 500 below the .htaccess files with settings of PHP that no <IfModule> guards,
    with the first line; "" for none.
    """
    lines = [
        line
        for line in lines_for_24(tree, *SETTINGS)
        if line.file.role is Role.HTACCESS and next(line.enclosing("<ifmodule"), None) is None
    ]
    if not lines:
        return ""
    return f" and answers 500 at {lines[0].node.name} {_as_read(tree, lines[0])}{and_more(len(lines) - 1)}"


def _as_read(tree: ConfigTree, line: Statement) -> str:
    """Return the place of *line* in the text before any edit."""
    place = tree.original_place(line.place)
    return f"{display_path(place.path, tree.top)}:{place.line}"


def _handler_of(line: Statement) -> str:
    """Return the handler, or the type that is one, of a line, in lower case."""
    return next(iter(line.words()), "").lower()


RULE = Rule("C06", "foreign-modules", "Modules of other origin must be built anew", check)
