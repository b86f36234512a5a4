"""Names in directories, read once: a name that does not exist needs no stat of its own."""

from __future__ import annotations

import os
from itertools import islice
from time import monotonic
from typing import Final

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.engine.deps.files import FileDependency, is_directory, is_settled_file, unchanged

MAX_LISTINGS: Final = 64
MAX_NAMES: Final = 256  # names of a directory, and their bytes; larger directories have no listing
MAX_BYTES: Final = 8192
RETRY: Final = 1.0  # seconds between two readings of a directory


class DirectoryListing:
    """The names in the directory *path*, valid while its time of change is the same.

    As with files, what was read in the clock tick of the last change is not used (see `is_settled`).
    """

    __slots__ = ("_dependency", "_names", "_path", "_retry_at")

    def __init__(self, path: bytes) -> None:
        self._path = path
        self._dependency: FileDependency | None = None
        self._names: frozenset[bytes] = frozenset()
        self._retry_at = 0.0

    def lacks(self, name: bytes, tick: int | None) -> bool:
        """Return True if nothing with this name exists; False if a stat has to decide.

        The directory is checked once in each *tick* (None: always).
        """
        known = self._dependency
        if known is None or ((tick is None or known.tick != tick) and not unchanged((known,), tick)):
            now = monotonic()
            if now < self._retry_at:
                return False
            self._retry_at = now + RETRY
            known = self._read()
            self._dependency = known
            if known is None:
                return False
        return name not in self._names

    def _read(self) -> FileDependency | None:
        """Read the names; return the directory's dependency, None if it is large or may be changing."""
        try:
            info = os.stat(self._path)
            if not is_directory(info) or not is_settled_file(info):
                return None
            with os.scandir(self._path) as entries:
                names = frozenset([entry.name for entry in islice(entries, MAX_NAMES + 1)])
        except OSError:
            return None
        if len(names) > MAX_NAMES or sum(map(len, names)) > MAX_BYTES:
            return None
        self._names = names
        signature = (info.st_mtime_ns, info.st_size, info.st_ino, info.st_mode, info.st_ctime_ns, info.st_dev)
        dependency = FileDependency(self._path, True, signature)
        return dependency if unchanged((dependency,), None) else None


class DirectoryListings:
    """Listings by path; at most `MAX_LISTINGS`, the oldest dropped first."""

    __slots__ = ("_listings",)

    def __init__(self) -> None:
        self._listings: BoundedDict[bytes, DirectoryListing] = BoundedDict(MAX_LISTINGS)

    def get(self, path: bytes) -> DirectoryListing:
        """Return the listing of a directory."""
        listing = self._listings.get(path)
        if listing is None:
            listing = DirectoryListing(path)
            self._listings[path] = listing
        return listing
