"""mod_so: LoadModule and LoadFile.

The base name of the file selects the module, in any directory; the identifier must be that module's. Manual:
mod/mod_so.html.
"""

from __future__ import annotations

import os

from whimbrel.base.errors import MissingResource
from whimbrel.base.latin1 import to_bytes
from whimbrel.config.execute import root_relative
from whimbrel.config.load import load_module, no_library
from whimbrel.config.reader import reading
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Context
from whimbrel.registry.module import Module

ON_READ = Context.RSRC_CONF | Context.EXEC_ON_READ


def set_load_module(command: Command, _none: None, words: list[str]) -> None:
    load_module(reading(command).configuration, words[0], words[1], command.place)


def set_load_file(command: Command, _none: None, words: list[str]) -> None:
    """Execute LoadFile: an existing library is accepted and ignored."""
    configuration = reading(command).configuration
    path = configuration.disk.on_disk(root_relative(configuration.root, words[0]))
    wrong = no_library(path)
    if wrong:
        shown = (
            path
            if not command.dialect.messages_24 or "/" in words[0] or os.path.exists(to_bytes(path))
            else words[0]
        )
        raise MissingResource(f"Cannot load {words[0]} into server: {shown}: {wrong}")


MODULE = Module(
    name="so_module",
    source="mod_so.c",
    setters={
        "LoadModule": set_load_module,
        "LoadFile": set_load_file,
    },
)
