"""A server that has all modules of httpd, for files whose server is unknown."""

from __future__ import annotations

from functools import cache
from typing import Final

from whimbrel.base.dialect import Dialect
from whimbrel.base.latin1 import to_bytes
from whimbrel.catalogue import Catalogue
from whimbrel.config.configuration import Configuration
from whimbrel.config.load import catalogue_of
from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.check.loading import load

MAIN: Final = "/whimbrel-all-modules.conf"
"""The path of its main file, which exists in the overlay alone."""
_FOREIGN: Final = {"php": "libphp", "fcgid": "mod_fcgid", "fastcgi": "mod_fastcgi", "wsgi": "mod_wsgi"}
"""Modules of other origin that are known, with the names of their files."""
UNUSED_PORT: Final = 65534
"""A port that no file alone listens on: a second Listen of one port is an error."""


@cache
def configuration_with_all(dialect: Dialect) -> Configuration | None:
    """Return the server as *dialect* loads it, once for each dialect; None if it does not load."""
    return load(server_with_all(catalogue_of(dialect), frozenset(), frozenset()), dialect)[0]


def server_with_all(catalogue: Catalogue, left_out: frozenset[str], names: frozenset[str]) -> LoadOptions:
    """Return a server that has all modules but *left_out*, and in which *names* are defined."""
    lines = ["ServerName localhost", f"Listen {UNUSED_PORT}"]
    lines += [f"LoadModule {name}_module modules/{file}.so" for name, file in _FOREIGN.items()]
    for module in sorted(catalogue.modules, key=lambda module: bool(module.needs)):
        is_of_mpm = module.kind == "mpm" and module.identifier != "mpm_event_module"
        if not module.is_static and not is_of_mpm and module.identifier not in left_out:
            lines.append(f"LoadModule {module.identifier} modules/{module.file}.so")
    main = to_bytes("\n".join(lines) + "\n")
    return LoadOptions(server_root="/", file=MAIN, overlay={MAIN: main}, defines=tuple(sorted(names)))
