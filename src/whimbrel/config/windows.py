"""Servers on Windows: what shows in a text that it belongs to one, and the MPM of their builds.

The MPM of Windows is compiled in, there is no mod_unixd, and sections for other MPMs are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.base.builds import ANY, WINDOWS, Build
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.base.static_typing import Final
from whimbrel.catalogue.load import DirectiveEntry, catalogue
from whimbrel.config.configuration import Configuration
from whimbrel.config.detected_build import BuildRefuted, main_text_of, server_root_of
from whimbrel.config.options import LoadOptions
from whimbrel.directives.command import Command
from whimbrel.registry.module import Module

WINNT: Final = "mpm_winnt_module"
SOURCE: Final = "mpm_winnt.c"
DOCUMENTS: Final = ("documentroot", "<directory")
"""Lines whose paths show the system where no ServerRoot does."""
NOT_FOUND: Final = "The specified module could not be found."
"""What Windows says about a library that is missing."""


def is_windows_path(path: str) -> bool:
    """Return True if *path* begins with a drive letter."""
    return path[1:2] == ":" and path[2:3] in ("/", "\\") and path[:1].isalpha()


def is_windows_library(path: str) -> bool:
    """Return True if *path* is a library of Windows: modules of other origin are called .dll there."""
    return path.lower().endswith(".dll")


def _decided_by_root(options: LoadOptions) -> bool | None:
    """Return whether the ServerRoot of the main file is on Windows; None without a ServerRoot line."""
    root = server_root_of(main_text_of(options))
    return is_windows_path(root) if root else None


def build_of_root(options: LoadOptions, build: Build) -> Build:
    """Return the build for Windows if *build* was not named and the ServerRoot has a drive letter, else
    *build*."""
    return _of_windows(build) if _is_open(options, build) and _decided_by_root(options) else build


def check_library(configuration: Configuration, path: str) -> None:
    """Raise BuildRefuted if LoadModule *path* shows that a server without a ServerRoot line is on Windows."""
    if is_windows_library(path):
        _refute(configuration)


def check_documents(configuration: Configuration) -> None:
    """Raise BuildRefuted if the document roots that were read show that."""
    if _is_open(configuration.options, configuration.build) and _has_windows_paths(configuration):
        _refute(configuration)


def _refute(configuration: Configuration) -> None:
    build = configuration.build
    options = configuration.options
    if _is_open(options, build) and _decided_by_root(options) is None:
        raise BuildRefuted(_of_windows(build))


def _is_open(options: LoadOptions, build: Build) -> bool:
    """Return True if the text decides about the build: none is named, and the server runs elsewhere."""
    return options.is_elsewhere and not options.is_unix and (build.is_detected or build.name == ANY)


def _of_windows(build: Build) -> Build:
    return Build(WINDOWS, build.version, build.layout, "paths or libraries of Windows")


def _has_windows_paths(configuration: Configuration) -> bool:
    """Return True if a document root or a <Directory> that was read has a drive letter."""
    waiting = [*configuration.tree]
    while waiting:
        node = waiting.pop()
        waiting += node.children
        if node.name.lower() in DOCUMENTS and is_windows_path(node.args.strip().lstrip('"')):
            return True
    return False


def add_mpm(configuration: Configuration) -> None:
    """Give *configuration* the names and directives of the MPM of Windows in place of those of its own MPM,
    whose behaviour stays."""
    modules = configuration.modules
    for row in catalogue("2.4").modules:
        if row.kind == "mpm":
            modules.names -= {row.identifier, row.source}
    rows = tuple(_rows(is_22=configuration.dialect.version < (2, 4)))
    module = Module(name=WINNT, source=SOURCE, setters={row.name: _ignore for row in rows})
    modules.add(module, rows, is_listed=False)


def _rows(*, is_22: bool) -> Iterator[DirectiveEntry]:
    """Yield the directives of the MPM of Windows that another MPM may lack."""
    for row in catalogue("2.4").module_rows("event.c"):
        if row.name in ("ThreadsPerChild", "ThreadLimit"):
            yield replace(row, source=SOURCE)
            if is_22:
                yield replace(row, source=SOURCE, name="Win32DisableAcceptEx", args="NO_ARGS", help="")


def _ignore(_command: Command, _conf: object, _words: list[str]) -> None:
    """Take a directive without effect here."""
