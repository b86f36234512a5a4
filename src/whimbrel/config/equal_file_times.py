"""Times of documents of a copy that is compared with another one: those of the same documents there.

A copy without ``-p`` gives each file a new time, which no text of a configuration decides.
"""

from __future__ import annotations

import os
from stat import S_ISREG

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.static_typing import Final
from whimbrel.config.copied_paths import IN_PLACE, CopiedPaths
from whimbrel.config.options import LoadOptions

MAX_KNOWN: Final = 100_000
MAX_COMPARED: Final = 1 << 20
"""Bytes of a file that are compared; of longer files both ends."""
_END: Final = 1 << 16


class EqualFileTimes:
    """The times of files that another copy has with the same bytes.

    Key: place and time of a file. Value: the time that counts. Validity: the configuration. Bound: MAX_KNOWN.
    """

    __slots__ = ("_known", "_other_disk", "_pairs")

    def __init__(self, options: LoadOptions) -> None:
        pairs = ((options.server_root, options.stand_in_root), (options.image, options.stand_in_image))
        self._pairs = [(own.rstrip("/"), other.rstrip("/")) for own, other in pairs if own and other]
        image = options.stand_in_image
        self._other_disk = CopiedPaths.links_of(image) if image else IN_PLACE
        self._known: BoundedDict[tuple[str, int], int] = BoundedDict(MAX_KNOWN)

    def time_of(self, place: str, info: os.stat_result) -> int:
        """Return the time in nanoseconds that counts for the file at *place*, which has the status *info*:
        that of the other copy if its file has the same bytes, else its own.
        """
        key = place, info.st_mtime_ns
        found = self._known.get(key)
        if found is None:
            found = self._time(place, info)
            self._known[key] = found
        return found

    def _time(self, place: str, info: os.stat_result) -> int:
        own = info.st_mtime_ns
        for root, other_root in self._pairs:
            if not (S_ISREG(info.st_mode) and place.startswith(f"{root}/")):
                continue
            other = self._other_disk.on_disk(other_root + place[len(root) :])
            try:
                found = os.stat(to_bytes(other))
                is_candidate = S_ISREG(found.st_mode) and found.st_size == info.st_size
                if is_candidate and found.st_mtime_ns != own and _has_same_bytes(place, other, info.st_size):
                    return found.st_mtime_ns
            except (OSError, ValueError):
                continue
        return own


def _has_same_bytes(one: str, other: str, size: int) -> bool:
    starts = (0,) if size <= MAX_COMPARED else (0, size - _END)
    length = size if size <= MAX_COMPARED else _END
    with open(to_bytes(one), "rb") as first, open(to_bytes(other), "rb") as second:
        for start in starts:
            first.seek(start)
            second.seek(start)
            if first.read(length) != second.read(length):
                return False
    return True
