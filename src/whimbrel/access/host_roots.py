"""The document roots of VirtualDocumentRoot: one for each host name that the lines of one server answer.

Source: mod_vhost_alias.c, `vhost_alias_interpolate`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from whimbrel.config.copied_paths import CopiedPaths

MAX_HOST_ROOTS: Final = 100
"""The maximum number of document roots of one VirtualDocumentRoot line."""
_PIECE: Final = re.compile(r"%(?:%|p|-?[0-9]\+?(?:\.-?[0-9]\+?)?)", re.ASCII)


def host_roots(text: str, disk: CopiedPaths, named: Iterable[str], neutral: str) -> list[str]:
    """Return the directories that *text*, a path with `%` specifiers, may stand for; at most
    `MAX_HOST_ROOTS` and one more.

    They exist on *disk*, or lie on the way to one of the directories *named*; the first has *neutral* for
    each part of a host name: the directory of a host that nothing names.
    """
    below: dict[str, dict[str, None]] = {}
    for directory in named:
        parts = [part for part in directory.split("/") if part]
        for at, part in enumerate(parts):
            below.setdefault("".join(f"/{above}" for above in parts[:at]), {})[part] = None
    found = [""]
    for segment in filter(None, text.split("/")):
        shape = re.compile(_replaced(segment, "[^/]*", re.escape))
        unnamed = _replaced(segment, neutral, str)
        tops = found
        found = []
        for top in tops:
            names = dict.fromkeys([unnamed])
            if unnamed != segment.replace("%%", "%"):
                names |= below.get(top, {})
                names |= dict.fromkeys(
                    name for name in disk.names_in(top or "/") if disk.is_directory(f"{top}/{name}")
                )
            found += [f"{top}/{name}" for name in names if shape.fullmatch(name)]
            if len(found) > MAX_HOST_ROOTS:
                del found[MAX_HOST_ROOTS + 1 :]
                break
    return found


def _replaced(segment: str, text: str, quote: Callable[[str], str]) -> str:
    """Return *segment* with *text* for each part of a host name, and all else after *quote*."""
    written: list[str] = []
    at = 0
    for piece in _PIECE.finditer(segment):
        written.append(quote(segment[at : piece.start()]))
        written.append(quote("%") if piece[0] == "%%" else text)
        at = piece.end()
    return "".join(written) + quote(segment[at:])
