"""The access logs of a server that are on this machine: what a replay can read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from whimbrel.base.latin1 import from_system, to_bytes
from whimbrel.base.lazy_re import compile
from whimbrel.config.detected_build import main_text
from whimbrel.config.execute import root_relative
from whimbrel.syntax.words import getword

if TYPE_CHECKING:
    from whimbrel.config.options import LoadOptions

MAX_LOGS: Final = 4
"""Logs that a command names."""
_LOG: Final = compile(rb"(?im)^[ \t]*(?:CustomLog|TransferLog)[ \t]+(.+)$")


def found_logs(options: LoadOptions, files: Iterable[str]) -> list[str]:
    """Return the paths of the logs that the server of *options* writes by lines of *files*: those that are
    here and have lines, in the order of the text.
    """
    found: dict[str, None] = {}
    for path in files:
        for line in _LOG.finditer(main_text(path)):
            name = getword(from_system(os.fsdecode(line[1])))[0]
            if name[:1] != "|" and "${" not in name:
                is_absolute = name.startswith("/")
                place = _placed(name, options) if is_absolute else root_relative(options.server_root, name)
                if os.path.isfile(to_bytes(place)) and os.path.getsize(to_bytes(place)):
                    found[place] = None
    return list(found)[:MAX_LOGS]


def _placed(path: str, options: LoadOptions) -> str:
    """Return where a copy has the file *path* of the text."""
    for original, place in options.copied:
        if f"{path}/".startswith(f"{original.rstrip('/')}/"):
            return place.rstrip("/") + path[len(original.rstrip("/")) :]
    return path
