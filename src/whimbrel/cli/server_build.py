"""The build of the server that a command line names, for -V, -l and 2.2's -L."""

from __future__ import annotations

import os

from whimbrel.base.builds import Build, presumed
from whimbrel.base.latin1 import from_system
from whimbrel.base.layouts import UPSTREAM
from whimbrel.cli.arguments import Arguments
from whimbrel.config.detected_build import main_text, paths_of
from whimbrel.config.servers import server_of


def detected_server(arguments: Arguments) -> tuple[str, str, Build]:
    """Return root and file of the server of -d and -f, and its build.

    Included files are read only if the main file shows no distribution.
    """
    server = server_of(arguments.root, arguments.file)
    text = main_text(from_system(server.path))
    build = presumed(arguments.version, paths_of(server.root, server.path, text), text)
    if (build.name == UPSTREAM or arguments.version == "2.2") and os.path.isfile(server.path):
        build = _read_build(arguments) or build
    return server.root, server.file, build


def _read_build(arguments: Arguments) -> Build | None:
    """Return the build after reading; None if nothing can be read."""
    from whimbrel.base.errors import ConfigError, StartError
    from whimbrel.cli.config_loader import ConfigLoader

    arguments.check_only = True
    loader = ConfigLoader(arguments, is_silent=True)
    try:
        loader.read()
    except (ConfigError, StartError):
        pass  # -t reports it; what was read up to there shows the build as well
    return loader.configuration.build if loader.configuration is not None else None
