"""The files of a disk cache as htcacheclean treats them: listed, removed by URL, purged to limits.

Files that belong to no entry are removed if they are old, or always in thorough mode. Source: httpd's
support/htcacheclean.c; format: modules/cache/disk_format.py.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from stat import S_ISDIR, S_ISREG
from typing import Final

from whimbrel.base.file_reading import open_regular, read_start
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.modules.cache import disk_format as disk

DEVIATION: Final = 3600  # seconds around now in which a file without its partner may be in use
MICROSECONDS: Final = 1_000_000
NICE_DELETIONS: Final = 10  # deletions after which nice mode waits, and how long in seconds
NICE_DELAY: Final = 0.1
_FORMAT_LENGTH: Final = 4
_TEMPORARY_LENGTH: Final = len(disk.TEMPORARY) + 6


@dataclass(slots=True)
class CacheFile:
    """An entry, or what there is of one.

    Attributes:
        base: path without suffix; `sizes`, `times`: bytes and seconds of header and body, -1 for none.
        expire, response_time: microseconds.
    """

    base: str
    sizes: list[int] = field(default_factory=lambda: [-1, -1])
    times: list[float] = field(default_factory=lambda: [0.0, 0.0])
    expire: int = 0
    response_time: int = 0

    @property
    def size(self) -> int:
        """Return the bytes of both files."""
        return sum(size for size in self.sizes if size > 0)


@dataclass(slots=True)
class CacheCleaner:
    """One run over the directory *root*.

    Attributes:
        is_dry, is_thorough, is_nice, removes_directories: options -D, -r, -n and -t.
        unit: sizes are rounded up to multiples of it (-R).
        unsolicited: bytes of removed files that belonged to no entry; `nodes`: files and directories.
    """

    root: str
    is_dry: bool = False
    is_thorough: bool = False
    is_nice: bool = False
    removes_directories: bool = False
    unit: int = 0
    unsolicited: int = 0
    nodes: int = 0
    entries: list[CacheFile] = field(default_factory=list)
    _deletions: int = 0

    def scan(self, directory: str = "") -> None:
        """Collect the entries below *directory*, and remove what belongs to none.

        Raises:
            OSError: a directory cannot be read.
        """
        path = directory or self.root
        found: dict[str, CacheFile] = {}
        for name in os.listdir(path):
            full = f"{path}/{name}"
            is_temporary = name.startswith(disk.TEMPORARY) and len(name) == _TEMPORARY_LENGTH
            if is_temporary and not self.is_thorough:
                continue
            try:
                info = os.stat(full)
            except OSError:
                continue
            self.nodes += 1
            if S_ISDIR(info.st_mode):
                self.scan(full)
                if self.removes_directories:
                    self._remove(full, os.rmdir)
            elif S_ISREG(info.st_mode) and is_temporary:
                self._remove(full)
                self.unsolicited += self._rounded(info.st_size)
            elif S_ISREG(info.st_mode):
                self._note(found, full, info)
        for entry in found.values():
            self._judge(entry)

    def _note(self, found: dict[str, CacheFile], full: str, info: os.stat_result) -> None:
        for at, suffix in enumerate((disk.HEADER, disk.DATA)):
            base = full.removesuffix(suffix)
            if base != full and not base.endswith("/"):
                entry = found.setdefault(base, CacheFile(base))
                entry.sizes[at] = self._rounded(info.st_size)
                entry.times[at] = info.st_mtime

    def _rounded(self, size: int) -> int:
        return -(-size // self.unit) * self.unit if self.unit else size

    def _judge(self, entry: CacheFile) -> None:
        """Add an entry; remove its files if they are none."""
        header, body = (size >= 0 for size in entry.sizes)
        data = _head(entry.base + disk.HEADER) if header else b""
        kind = disk.format_of(data)
        now = time.time()
        if kind == disk.VARY_FORMAT:
            if body:
                self._remove(entry.base + disk.DATA)
            elif len(data) >= 12 and disk.expiry_of_list(data) < now * MICROSECONDS:
                self.delete(entry)
            return
        if kind == disk.DISK_FORMAT:
            try:
                facts = disk.unpack_facts(data)[0]
            except disk.FormatError:
                pass
            else:
                if body or not facts.has_body:
                    entry.expire = facts.expire
                    entry.response_time = facts.response_time
                    self.entries.append(entry)
                    return
        elif len(data) >= _FORMAT_LENGTH:  # of another program, or garbage: no server is writing it
            self.delete(entry)
            self.unsolicited += entry.size
            return
        changed = entry.times[0] if header else entry.times[1]
        if self.is_thorough or abs(changed - now) > DEVIATION:
            self.delete(entry)
            self.unsolicited += entry.size

    def _remove(self, path: str, remove: Callable[[str], None] = os.unlink) -> None:
        if not self.is_dry:
            try:
                remove(path)
            except OSError:
                return
        self.nodes -= 1
        self._deletions += 1
        if self.is_nice and self._deletions % NICE_DELETIONS == 0:
            time.sleep(NICE_DELAY)

    def delete(self, entry: CacheFile) -> None:
        """Remove the files of an entry, and with -t the directories that are empty then."""
        for size, suffix in zip(entry.sizes, (disk.HEADER, disk.DATA), strict=True):
            if size >= 0:
                self._remove(entry.base + suffix)
        if self.removes_directories:
            directory = entry.base.rpartition("/")[0]
            while len(directory) > len(self.root) and not self.is_dry:
                try:
                    os.rmdir(directory)
                except OSError:
                    break
                self.nodes -= 1
                directory = directory.rpartition("/")[0]

    def purge(self, max_bytes: int, max_nodes: int) -> tuple[int, int, int]:
        """Remove entries until the limits hold (0: no limit): those from the future, expired ones, then the
        oldest bodies. Return the bytes before and after, and the number of entries that are left.
        """
        now = time.time()
        total = sum(entry.size for entry in self.entries)
        left = total

        def holds() -> bool:
            return (not max_bytes or left <= max_bytes) and (not max_nodes or self.nodes <= max_nodes)

        for select in (
            lambda e: e.response_time > now * MICROSECONDS or max(e.times) > now,
            lambda e: 0 < e.expire < now * MICROSECONDS,
            lambda e: True,
        ):
            chosen: list[CacheFile] = [entry for entry in self.entries if select(entry)]
            for entry in sorted(chosen, key=lambda e: e.times[1]):
                if holds():
                    return total, left, len(self.entries)
                self.delete(entry)
                self.entries.remove(entry)
                left -= entry.size
        return total, left, len(self.entries)


def _head(path: str) -> bytes:
    try:
        return read_start(path, disk.FACTS_SIZE)
    except OSError:
        return b""


def header_files(root: str) -> Iterator[str]:
    """Yield the paths of header files below *root*.

    Raises:
        OSError: a directory cannot be read.
    """
    for name in os.listdir(root):
        full = f"{root}/{name}"
        if os.path.isdir(full):
            yield from header_files(full)
        elif name.endswith(disk.HEADER):
            yield full


def describe(path: str, unit: int = 0) -> tuple[str, tuple[int, ...]] | None:
    """Return the URL of an entry and its attributes in the order of -A; None for a list of variants."""
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            data = file.read(disk.MAX_HEADER)
            size = os.fstat(file.fileno()).st_size
        if disk.format_of(data) != disk.DISK_FORMAT:
            return None
        facts, length = disk.unpack_facts(data)
        url = disk.key_of(data, length)
    except (OSError, disk.FormatError):
        return None
    try:
        body = os.stat(path.removesuffix(disk.HEADER) + disk.DATA).st_size
    except OSError:
        body = 0
    if unit:
        size, body = -(-size // unit) * unit, -(-body // unit) * unit
    attributes = (
        size,
        body,
        facts.status,
        facts.version,
        facts.date,
        facts.expire,
        facts.request_time,
        facts.response_time,
        int(facts.has_body),
        int(facts.is_head_only),
    )
    return url, attributes


def delete_url(cleaner: CacheCleaner, url: str) -> bool:
    """Remove all entries of *url*, variants included; return True if there was one."""
    found = False
    for path in list(header_files(cleaner.root)):
        known = describe(path)
        if known is not None and known[0] == url:
            base = path.removesuffix(disk.HEADER)
            sizes = [0, 0 if os.path.exists(base + disk.DATA) else -1]
            cleaner.delete(CacheFile(base, sizes))
            found = True
    return found
