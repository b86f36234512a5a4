"""File dependencies of a configuration whose files lie elsewhere than its text states."""

from __future__ import annotations

import os
import zlib
from errno import EINVAL
from typing import cast

from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.config.copied_paths import CopiedPaths
from whimbrel.engine.deps.files import (
    Dependencies,
    FileDependency,
    TickStatCache,
    is_directory,
    stat_signature,
)


def path_number(path: str) -> int:
    """Return the number that a file of a text has in the place of its inode."""
    return zlib.crc32(to_bytes(path.rstrip("/")))


class CopiedDependencies(Dependencies):
    """Dependencies whose paths are those of the text: files are looked up at their places in the copy."""

    __slots__ = ("_copied",)

    def __init__(self, copied: CopiedPaths, probes: TickStatCache | None = None) -> None:
        super().__init__(probes)
        self._copied = copied

    def on_disk(self, path: str, *, follow: bool = True) -> str:
        return self._copied.on_disk(path, follow=follow)

    def stat(self, path: str) -> os.stat_result | None:
        return self._status(path, follow=True)

    def lstat(self, path: str) -> os.stat_result | None:
        return self._status(path, follow=False)

    def opened(self, path: str, info: os.stat_result) -> os.stat_result:
        """Return *info* with a number that depends on the name in the text: copies of a file have others, and
        none has that of the machine. The time is that of the same document in the copy that is compared.
        """
        times = self._copied.equal_file_times
        if not self._copied.is_text and times is None:
            return info
        values, named = cast("tuple[tuple[int, ...], dict[str, float]]", info.__reduce__()[1])
        if times is not None:
            time = times.time_of(self.on_disk(path), info)
            named = {**named, "st_mtime": time / 1e9, "st_mtime_ns": time}
        number = path_number(path) if self._copied.is_text else info.st_ino
        return os.stat_result((values[0], number, *values[2:]), named)

    def _status(self, path: str, *, follow: bool) -> os.stat_result | None:
        key = (to_bytes(path), follow)
        probes = self._stat_cache
        if probes is not None and probes.in_tick:
            result = probes.known.get(key)
            if result is not None:
                return self._from_tick(key, result)
        try:
            place = to_bytes(self.on_disk(path, follow=follow))
            info = os.stat(place) if follow else os.lstat(place)
        except OSError as problem:
            self._missing(key, problem.errno or EINVAL)
            return None
        except ValueError:
            self._missing(key, EINVAL)
            return None
        info = self.opened(path, info)
        known = stat_signature(info)
        self.stats[key] = known
        if known is not None and not is_directory(info):
            self.newest = max(self.newest, info.st_mtime_ns)
            self.changed = max(self.changed, info.st_ctime_ns)
        if probes is not None and probes.in_tick:
            probes.known[key] = (info, known, 0)
        return info

    def minimal(self) -> tuple[FileDependency, ...]:
        """As in Dependencies, with the places in the copy."""
        return tuple(
            FileDependency(
                to_bytes(self.on_disk(to_text(one.path), follow=one.follow)), one.follow, one.known
            )
            for one in super().minimal()
        )
