"""Sides without the redirects of their servers: a redirect of every request hides the lines about access.

No request reaches such lines. If the sides without redirects decide alike about all their chains, the lines
decide alike too, whether a request ever reaches them or not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from whimbrel.verify.config_lines import ConfigLine, SideLines
from whimbrel.verify.coverage.without_line import side_without
from whimbrel.verify.side import Side

_REDIRECTS: Final = frozenset(
    {"rewriteengine", "redirect", "redirectmatch", "redirecttemp", "redirectpermanent"}
)
_ENDING: Final = frozenset({"r", "redirect", "f", "forbidden", "g", "gone"})
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


def without_redirects(lines: SideLines) -> Side | None:
    """Return the side without the redirects of its servers; None if it has none, or rules that map URLs to
    other paths, where requests meet other sections than by their URLs."""
    found = list(_lines_of_servers(lines))
    if not all(_is_ending(line) for line in found if line.name == "rewriterule"):
        return None
    removed = [line for line in found if line.name in _REDIRECTS]
    other = side_without(lines.side, removed) if removed else None
    return other if other is not None and other.is_loaded else None


def _lines_of_servers(lines: SideLines) -> Iterator[ConfigLine]:
    for scope in lines.scopes:
        if scope.kind == "server":
            yield from scope.lines


def _is_ending(line: ConfigLine) -> bool:
    """Return True if a RewriteRule leaves the path as it is, or ends the request."""
    words = line.words()
    if len(words) < 2 or words[1] == "-" or _SCHEME.match(words[1]):
        return "p" not in _flags(words)
    return not _ENDING.isdisjoint(_flags(words))


def _flags(words: list[str]) -> set[str]:
    flags = words[2].strip("[]").split(",") if len(words) > 2 else []
    return {flag.partition("=")[0].strip().lower().replace("proxy", "p") for flag in flags}
