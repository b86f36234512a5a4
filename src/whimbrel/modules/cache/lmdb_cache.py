"""Object cache in an LMDB file, shared by all workers through memory (mod_socache_shmcb, mod_socache_dbm).

Key: the caller's; value: an expiry time and the value. Bound: the size of the file. A full file is emptied of
expired values, then of all. LMDB's transactions survive a process that is killed.
"""

from __future__ import annotations

import hashlib
import os
import struct

from whimbrel.base.errors import MissingPackage, StartError
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.programs import may_start_programs
from whimbrel.base.static_typing import Any, Final
from whimbrel.config.configuration import Configuration
from whimbrel.config.mpm_config import MpmConfig, group_id, user_id
from whimbrel.engine.request import Request
from whimbrel.modules.cache.object_cache import ObjectCache

_EXPIRY: Final = struct.Struct("<d")
PAGE: Final = 4096
USED: Final = 0.6  # part of a file that values may fill: a change is written beside what it replaces
READERS: Final = 1024  # processes and threads that may read at a time


def require_library(*_: object) -> None:
    """Refuse the start without the package."""
    try:
        import lmdb  # noqa: F401
    except ImportError:
        raise MissingPackage("shared object caches shmcb and dbm", "cache") from None


def path_of(configuration: Configuration, name: str) -> str:
    """Return the path of a cache's file: *name*, or below DefaultRuntimeDir."""
    if name.startswith("/"):
        return name
    directory = configuration.main.config(MpmConfig).run_directory
    return os.path.join(directory or f"{configuration.root}/logs", name)


def prepare(configuration: Configuration, path: str, *, is_persistent: bool) -> None:
    """Make an empty file that the workers' user may write; with *is_persistent* one that exists stays.

    A tool makes and removes none: the configuration may name any file.
    """
    if not may_start_programs():
        return
    owner = configuration.main.config(MpmConfig)
    for name in (path, f"{path}-lock"):
        data = to_bytes(name)
        try:
            if not is_persistent and os.path.exists(data):
                os.unlink(data)
            os.close(os.open(data, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
        except OSError as problem:
            why = os.strerror(problem.errno or 0)
            raise StartError(f"could not create the shared object cache {name}: {why}") from None
        if os.geteuid() == 0:
            group = group_id(owner.group) if owner.group else None
            os.chown(data, (user_id(owner.user) or 0) if owner.user else -1, -1 if group is None else group)


class LmdbCache(ObjectCache):
    """A cache of at most *size* bytes in the file *path*."""

    __slots__ = ("_environment", "_path", "_size")

    def __init__(self, path: str, size: int) -> None:
        self._path = path
        self._size = -(-size // PAGE) * PAGE
        self._environment: Any = None

    def _opened(self) -> Any:
        if self._environment is None:
            import lmdb

            self._environment = lmdb.open(
                self._path, map_size=self._size, subdir=False, sync=False, metasync=False, max_readers=READERS
            )
        return self._environment

    async def retrieve(self, r: Request, key: bytes, limit: int) -> bytes | None:
        """Return a value that has not expired."""
        import lmdb

        try:
            with self._opened().begin() as transaction:
                data = transaction.get(_short(key))
        except lmdb.Error:
            return None
        if data is None or len(data) - _EXPIRY.size > limit or len(data) < _EXPIRY.size:
            return None
        return bytes(data[_EXPIRY.size :]) if _EXPIRY.unpack_from(data)[0] > r.engine.runtime.now() else None

    async def store(self, r: Request, key: bytes, value: bytes, seconds: int) -> bool:
        """Store a value; a full file is emptied first."""
        import lmdb

        now = r.engine.runtime.now()
        data = _EXPIRY.pack(now + seconds) + value
        try:
            for empty in (_drop_expired, _drop_all):
                if self._has_room(len(data)):
                    break
                with self._opened().begin(write=True) as transaction:
                    empty(transaction, now)
            with self._opened().begin(write=True) as transaction:
                return self._has_room(len(data)) and bool(transaction.put(_short(key), data))
        except lmdb.Error:
            return False

    def _has_room(self, count: int) -> bool:
        """Return True if a value of *count* bytes fits; a part of the file stays free, as changes need it."""
        found = self._opened().stat()
        pages = found["overflow_pages"] + found["leaf_pages"] + found["branch_pages"]
        return bool(pages * PAGE + count <= self._size * USED)

    async def remove(self, r: Request, key: bytes) -> None:
        import lmdb

        try:
            with self._opened().begin(write=True) as transaction:
                transaction.delete(_short(key))
        except lmdb.Error:
            pass


def _short(key: bytes) -> bytes:
    """Return a key of a length that LMDB takes."""
    return hashlib.sha256(key).digest()


def _drop_expired(transaction: Any, now: float) -> None:
    old = [bytes(key) for key, data in transaction.cursor() if _EXPIRY.unpack_from(data)[0] <= now]
    for key in old:
        transaction.delete(key)


def _drop_all(transaction: Any, _now: float) -> None:
    for key in [bytes(key) for key, _ in transaction.cursor()]:
        transaction.delete(key)
