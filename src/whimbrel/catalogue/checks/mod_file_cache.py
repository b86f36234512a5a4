"""mod_file_cache's warnings about files that it can't keep."""

from __future__ import annotations

import os
import stat

from whimbrel.catalogue.checks.rules import Around, Said, Warner
from whimbrel.octets import raw


def _kept(words: list[str], around: Around) -> Said | None:
    """The word is a plain file; another one is left out."""
    path = around.path(words[0])
    name, code = ("", "AH00795") if around.version == "2.4" else ("mod_file_cache: ", "")
    try:
        mode = os.stat(raw(path)).st_mode
    except OSError as problem:
        return Said(f"{name}unable to stat({path}), skipping", code, cause=f"({problem.errno}){os.strerror(problem.errno or 0)}")
    if not stat.S_ISREG(mode):
        return Said(f"{name}{path} isn't a regular file, skipping", "AH00796" if code else "")
    return None


WARNINGS: dict[str, Warner] = {"cachefile": _kept, "mmapfile": _kept}
