"""Directories that a copy of a server's files names and does not have, and that this machine has.

Their documents and .htaccess files answer, though the server may have other ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from whimbrel.base.counts import and_more
from whimbrel.base.errors import SourceLocation
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.config.execute import root_relative
from whimbrel.upgrade.knowledge.scope import UnknownItem, UnknownKind
from whimbrel.verify.config_lines import SideLines

CONSEQUENCE: Final = "its files on this machine answer, and its server may have other ones"
ADVICE: Final = (
    "name a copy that has it, such as an image of the machine; # whimbrel: ignore[DIFF] above the line "
    "records that the files are the same"
)
_NOT_IN_COPY: Final = " is outside of"
_MAPPING: Final = {"documentroot": 0, "alias": 1, "scriptalias": 1}
"""Directives that map URLs to a directory, and the position of its name."""


def uncopied_item(lines: SideLines) -> Iterator[UnknownItem]:
    """Yield one item about all directories of `uncopied_directories`, at the line of the first one."""
    items = [item for _path, item in uncopied_directories(lines)]
    if items:
        more = and_more(len(items) - 1)
        subject = items[0].subject.replace(_NOT_IN_COPY, more + _NOT_IN_COPY, 1)
        yield replace(items[0], subject=subject)


def uncopied_directories(lines: SideLines) -> Iterator[tuple[str, UnknownItem]]:
    """Yield each directory that is outside of the copy *lines* with the item about it; nothing of a server in
    its own place, of an image, and of a changed copy of another server, which has the files of that one.
    """
    configuration = lines.side.loaded
    options = lines.side.options
    if not options.is_copy or options.image or options.stand_in_root:
        return
    seen = set()
    for scope in lines.scopes:
        for line in scope.lines:
            words = line.words() if line.name in _MAPPING else []
            name = words[_MAPPING[line.name]] if len(words) > _MAPPING.get(line.name, 0) else ""
            path = root_relative(configuration.root, name) if name else ""
            if not path or path in seen or configuration.copied.place(path):
                continue
            seen.add(path)
            if os.path.isdir(to_bytes(path)):
                yield (
                    path,
                    UnknownItem(
                        UnknownKind.ASSUMED,
                        SourceLocation(line.path, line.line),
                        f"{path}{_NOT_IN_COPY} {options.server_root}, the copy that is read",
                        CONSEQUENCE,
                        ADVICE,
                    ),
                )
