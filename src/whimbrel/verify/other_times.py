"""Documents that both sides have with the same bytes and with other times: a copy without ``-p``."""

from __future__ import annotations

import os

from whimbrel.base.counts import count_noun, word_for
from whimbrel.base.latin1 import to_bytes
from whimbrel.upgrade.knowledge.scope import UnknownItem, UnknownKind
from whimbrel.verify.config_lines import SideLines


def other_times(lines: SideLines) -> list[UnknownItem]:
    """Return the item about the documents of a side that is a copy, [] where all have their times."""
    disk = lines.side.loaded.disk
    if disk.equal_file_times is None:
        return []
    texts = {scope.path for scope in lines.scopes}
    number = 0
    for directory, names in lines.directories.items():
        for name in names:
            place = disk.on_disk(directory + name)
            try:
                info = os.stat(to_bytes(place))
            except (OSError, ValueError):
                continue
            number += place not in texts and disk.equal_file_times.time_of(place, info) != info.st_mtime_ns
    if not number:
        return []
    verb = word_for(number, "has", "have")
    subject = f"{count_noun(number, 'document')} with the same bytes {verb} another time on disk"
    consequence = "Last-Modified and ETag were compared as if the times were equal"
    advice = "`cp -p` keeps the times"
    return [UnknownItem(UnknownKind.ASSUMED, None, subject, consequence, advice, matters=False)]
