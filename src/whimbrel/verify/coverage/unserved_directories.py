"""Sides that serve directories which no URL has: those of a main server that no request enters, for instance.

No request reaches the sections of such a directory. If the sides with an Alias for it decide alike about all
their chains, the sections decide alike, whatever maps a URL to the directory later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.verify.alignment import has_pattern
from whimbrel.verify.config_lines import ConfigLine, LineScope
from whimbrel.verify.loading import load_side
from whimbrel.verify.side import Side

MAX_DIRECTORIES: Final = 50
"""Directories that are served in one verification."""
_PREFIX: Final = "/whimbrel-unserved"


def unserved(lines: Iterable[ConfigLine]) -> list[str]:
    """Return the directories of the sections around *lines*, each once and without its last slash."""
    found = dict.fromkeys(path for line in lines for path in _directory_of(line.scope))
    return list(found)[:MAX_DIRECTORIES]


def serving(side: Side, directories: Iterable[str]) -> Side | None:
    """Return the side with an Alias for each of *directories*, which virtual hosts inherit; None if it does
    not load, as without mod_alias.

    It records no origins: it answers, and explains nothing.
    """
    added = tuple(f'Alias {_PREFIX}-{n} "{path or "/"}"' for n, path in enumerate(directories))
    options = replace(side.options, after=(*side.options.after, *added), origins=False)
    now = side.runtime.time
    if options.is_elsewhere:
        other = load_side(options, side.dialect, name=side.name, origins=False, now=now)
    else:
        other = Side.load(options, side.dialect, name=side.name, now=now)
    return other if other.is_loaded else None


def _directory_of(scope: LineScope) -> Iterator[str]:
    """Yield the directory of the outermost section around *scope* if that is one directory."""
    around = scope
    while around.outer is not None and around.outer.kind != "server":
        around = around.outer
    words = around.words()
    if around.kind == "directory" and not has_pattern(around) and len(words) == 1:
        yield words[0].rstrip("/")
