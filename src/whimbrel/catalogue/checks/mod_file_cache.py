"""mod_file_cache's warnings about files that cannot be cached."""

from __future__ import annotations

import os
import stat

from whimbrel.base.latin1 import to_bytes
from whimbrel.catalogue.checks.rules import CheckContext, CheckWarning, Warner


def _cacheable_file(words: list[str], around: CheckContext) -> CheckWarning | None:
    """Warn if the argument is not a regular file; httpd skips it."""
    path = around.path(words[0])
    name, code = ("", "AH00795") if around.version == "2.4" else ("mod_file_cache: ", "")
    try:
        mode = os.stat(to_bytes(path)).st_mode
    except OSError as problem:
        return CheckWarning(
            f"{name}unable to stat({path}), skipping",
            code,
            cause=f"({problem.errno}){os.strerror(problem.errno or 0)}",
        )
    if not stat.S_ISREG(mode):
        return CheckWarning(f"{name}{path} isn't a regular file, skipping", "AH00796" if code else "")
    return None


WARNINGS: dict[str, Warner] = {"cachefile": _cacheable_file, "mmapfile": _cacheable_file}
