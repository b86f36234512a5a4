"""File and line of messages in httpd's sources: in 2.4's error log from level debug on, and in ``%F`` of
ErrorLogFormat.

`log_sources.tsv`: module, AH code or a regular expression for the beginning of an uncoded text, file and line
of 2.4.71.  The rewriting log's expressions begin with ``perdir `` for lines about per-directory rules.
"""

from __future__ import annotations

import os.path
import re
from functools import cache

from whimbrel.base.lazy_re import compile


def source_of(module: str, code: str, text: str) -> str:
    """Return ``mod_rewrite.c(483)``, or "" if unknown; *module* is the short name."""
    codes, texts = table()
    if code:
        return codes.get(code, "")
    for beginning, source in texts.get(module, ()):
        if beginning.match(text):
            return source
    return ""


@cache
def table() -> tuple[dict[str, str], dict[str, list[tuple[re.Pattern[str], str]]]]:
    """Return the locations by AH code, and by module for texts without one, in the order of the file."""
    codes: dict[str, str] = {}
    texts: dict[str, list[tuple[re.Pattern[str], str]]] = {}
    with open(os.path.join(os.path.dirname(__file__), "log_sources.tsv"), encoding="utf-8") as file:
        for line in file.read().split("\n")[1:-1]:
            module, key, source = line.split("\t")
            if key.startswith("AH") and key[2:].isdigit():
                codes[key] = source
            else:
                texts.setdefault(module, []).append((compile(key), source))
    return codes, texts
