"""Loading a configuration to explain requests: with origins, and without the machine that it is for."""

from __future__ import annotations

from typing import Final

from whimbrel.base.dialect import Dialect
from whimbrel.base.errors import ConfigError, StartError
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.config.options import LoadOptions
from whimbrel.verify.side import Side

TYPE_MODULES: Final = ("mime_module", "mime_magic_module")
"""Modules whose step after reading only reads a file of types: answers depend on it."""


def load_side(
    options: LoadOptions,
    dialect: Dialect | str,
    *,
    name: str = "",
    origins: bool = True,
    now: float | None = None,
) -> Side:
    """Return the side of a configuration whose server need not run here: directories may be missing.

    *now* is the time of all answers, seconds since the epoch. Media types are read from TypesConfig; a file
    that cannot be read leaves them out.
    """
    options = replace(options, is_elsewhere=True, origins=origins)
    side = Side.load(options, dialect, name=name, now=now, check_only=True)
    if side.is_loaded:
        for module in side.loaded.modules.modules:
            if module.name in TYPE_MODULES:
                for step in module.post_config:
                    try:
                        step(side.loaded)
                    except (ConfigError, StartError):
                        continue
    return side
