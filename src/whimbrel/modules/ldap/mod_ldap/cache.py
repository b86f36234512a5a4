"""Caches of LDAP operations in memory that all workers share: httpd's util_ldap_cache.

A cache is a ring of records with a table of their keys. Keys are keyed hashes; a password is a keyed
hash that depends on its key as well. A worker that is killed in the middle of a change leaves a miss: a
key is erased before its record changes and written after it, and the kernel releases the lock.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from hashlib import blake2b
from hmac import compare_digest
from mmap import mmap
from struct import Struct
from threading import Lock
from typing import Any, Final

from whimbrel.base.file_locks import lock, try_lock, unlock
from whimbrel.engine.request import RequestEngine
from whimbrel.modules.ldap.mod_ldap.settings import LdapServerConfig

_CACHES = "ldap-caches"

_HEAD: Final = Struct("<7Q")  # of a cache: end of the ring's data, next slot, counters
_FETCHES, _HITS, _INSERTS, _REMOVES, _PURGES = range(2, 7)  # counters, by their place in the head
_KEY: Final = 16  # bytes of a key's hash
_RECORD: Final = Struct("<dQQ")  # of a slot: time of storage, position of the data, their length
_OVERHEAD: Final = 200  # least bytes of an entry: LDAPSharedCacheSize allows at most as many entries
_NO_KEY: Final = bytes(_KEY)
_STRIPES: Final = 128  # locks of `SharedMemory.serialized`; byte 0 of the lock file is that of the memory
_MAX_SERIALIZED_WAIT: Final = (
    2.0  # seconds that an operation waits for an equal one, whose directory may be slow
)
UNSHARED_SIZE: Final = 500_000  # bytes of a worker's own caches with LDAPSharedCacheSize 0


class SharedMemory:
    """Memory with a lock and a secret, for the processes forked after its creation."""

    def __init__(self, size: int) -> None:
        self.memory = mmap(-1, max(size, 1))
        self.size = size
        self.secret = os.urandom(32)
        self._file = os.memfd_create("whimbrel-ldap", os.MFD_CLOEXEC)
        # record locks do not exclude threads of one process
        self._lock = Lock()
        self._stripes = [Lock() for _ in range(_STRIPES)]

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            os.close(self._file)

    @contextmanager
    def locked(self) -> Iterator[mmap]:
        """Hold the lock."""
        with self._lock:
            lock(self._file, 1)
            try:
                yield self.memory
            finally:
                unlock(self._file, 1)

    @contextmanager
    def serialized(self, name: bytes) -> Iterator[None]:
        """Serialize the threads of all processes with *name*; wait at most `_MAX_SERIALIZED_WAIT` seconds."""
        stripe = name[0] % _STRIPES
        end = time.monotonic() + _MAX_SERIALIZED_WAIT
        if not self._stripes[stripe].acquire(timeout=_MAX_SERIALIZED_WAIT):
            yield
            return
        try:
            while not try_lock(self._file, 1, 1 + stripe) and time.monotonic() < end:
                time.sleep(0.002)
            yield
        finally:
            unlock(self._file, 1, 1 + stripe)
            self._stripes[stripe].release()

    def digest(self, data: bytes, length: int) -> bytes:
        """Return a keyed hash of *data*."""
        return blake2b(data, key=self.secret, digest_size=length).digest()


class OperationCache:
    """JSON values by key, at most *entries* of them in *size* bytes from *start*, for *ttl* seconds.

    When it is full, the oldest entries go. With no entries or bytes allowed nothing is stored.
    """

    def __init__(
        self,
        shared: SharedMemory,
        place: tuple[int, int],
        entries: int,
        ttl: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        start, size = place
        self._shared = shared
        self._start = start
        self.ttl = ttl
        self._clock = clock
        self.entries = max(0, min(entries, (size - _HEAD.size) // _OVERHEAD))
        self._keys = start + _HEAD.size
        self._records = self._keys + self.entries * _KEY
        self._data = self._records + self.entries * _RECORD.size
        self._room = start + size - self._data

    def get(self, key: tuple[Any, ...], *, is_repeated: bool = False) -> Any:
        """Return the value of *key*, None without one or with an old one; a repeated miss is not counted."""
        if not self.entries:
            return None
        name = self._name(key)
        with self._shared.locked() as memory:
            slot = self._find(memory, name)
            if not is_repeated:
                self._count(memory, _FETCHES)
            if slot < 0:
                return None
            stored, position, length = self._record(memory, slot)
            if self._is_overwritten(memory, slot) or self._clock() - stored > self.ttl:
                self._drop(memory, slot)
                return None
            self._count(memory, _HITS)
            data = self._bytes(memory, position, length)
        return json.loads(data)

    def put(self, key: tuple[Any, ...], value: object) -> None:
        """Store *value*, which JSON can express."""
        name = self._name(key)
        data = json.dumps(value).encode()
        if not self.entries or len(data) > self._room:
            return
        with self._shared.locked() as memory:
            known = self._find(memory, name)
            if known >= 0:
                self._drop(memory, known)
            slot, position = self._take_place(memory, len(data))
            place = self._data + position % self._room
            memory[place : place + len(data)] = data
            _RECORD.pack_into(memory, self._records + slot * _RECORD.size, self._clock(), position, len(data))
            memory[self._keys + slot * _KEY : self._keys + (slot + 1) * _KEY] = name
            self._count(memory, _INSERTS)

    def serialized(self, key: tuple[Any, ...]) -> AbstractContextManager[None]:
        """Serialize operations with *key*: the second may find the result of the first."""
        return self._shared.serialized(self._name(key))

    def counters(self) -> CacheCounters:
        """Return the counters of all workers."""
        if not self.entries:
            return CacheCounters(0, 0, 0, 0, 0, 0, 0)
        with self._shared.locked() as memory:
            length = sum(
                self._is_used(memory, slot) and not self._is_overwritten(memory, slot)
                for slot in range(self.entries)
            )
            return CacheCounters(self.entries, length, *_HEAD.unpack_from(memory, self._start)[2:])

    def __len__(self) -> int:
        return self.counters().length

    def hash_password(self, key: tuple[Any, ...], password: str) -> str:
        """Return a digest of *password* that has no use outside of this server and for another key."""
        data = self._name(key) + password.encode("utf-8", "surrogateescape")
        return self._shared.digest(data, 32).hex()

    def is_password(self, key: tuple[Any, ...], stored: str, given: str) -> bool:
        """Return True if *stored* is the digest of *given*."""
        return compare_digest(stored, self.hash_password(key, given))

    def _name(self, key: tuple[Any, ...]) -> bytes:
        return self._shared.digest(f"{self._start} {key!r}".encode("utf-8", "surrogateescape"), _KEY)

    def _find(self, memory: mmap, name: bytes) -> int:
        """Return the slot of a key, -1 without one."""
        keys = memory[self._keys : self._records]
        place = keys.find(name)
        while place >= 0 and place % _KEY:
            place = keys.find(name, place + 1)
        return place // _KEY if place >= 0 else -1

    def _record(self, memory: mmap, slot: int) -> Any:
        return _RECORD.unpack_from(memory, self._records + slot * _RECORD.size)

    def _bytes(self, memory: mmap, position: int, length: int) -> bytes:
        place = self._data + position % self._room
        return memory[place : place + length]

    def _take_place(self, memory: mmap, length: int) -> tuple[int, int]:
        """Return the oldest slot, emptied, and the position of *length* bytes in place of the oldest data."""
        end, slot = _HEAD.unpack_from(memory, self._start)[:2]
        rest = self._room - end % self._room
        position = end + rest if rest < length else end
        if self._is_used(memory, slot):
            self._drop(memory, slot)
            self._count(memory, _PURGES)
        counters = _HEAD.unpack_from(memory, self._start)[2:]
        _HEAD.pack_into(memory, self._start, position + length, (slot + 1) % self.entries, *counters)
        return slot, position

    def _is_overwritten(self, memory: mmap, slot: int) -> bool:
        """Return True if later entries took the place of the slot's data."""
        position: int = self._record(memory, slot)[1]
        end: int = _HEAD.unpack_from(memory, self._start)[0]
        return position + self._room < end

    def _is_used(self, memory: mmap, slot: int) -> bool:
        return memory[self._keys + slot * _KEY : self._keys + (slot + 1) * _KEY] != _NO_KEY

    def _drop(self, memory: mmap, slot: int) -> None:
        memory[self._keys + slot * _KEY : self._keys + (slot + 1) * _KEY] = _NO_KEY
        self._count(memory, _REMOVES)

    def _count(self, memory: mmap, counter: int) -> None:
        place = self._start + 8 * counter
        value = int.from_bytes(memory[place : place + 8], "little") + 1
        memory[place : place + 8] = value.to_bytes(8, "little")


class CacheCounters:
    """Counters of a cache: most entries, present ones, and operations since the start."""

    def __init__(
        self, entries: int, length: int, fetches: int, hits: int, inserts: int, removes: int, purges: int
    ) -> None:
        self.entries = entries
        self.length = length
        self.fetches = fetches
        self.hits = hits
        self.inserts = inserts
        self.removes = removes
        self.purges = purges


class Caches:
    """The caches of a server, each with its own part of *shared*."""

    def __init__(self, shared: SharedMemory, search: tuple[int, float], operation: tuple[int, float]) -> None:
        size = shared.size // 8
        self.searches = OperationCache(shared, (0, 4 * size), *search)
        self.comparisons = OperationCache(shared, (4 * size, 2 * size), *operation)
        self.names = OperationCache(shared, (6 * size, size), operation[0], float("inf"))
        self.subgroups = OperationCache(shared, (7 * size, size), *operation)


def caches_of(engine: RequestEngine) -> Caches:
    """Return the caches, which all workers share unless LDAPSharedCacheSize is 0."""
    found: Caches | None = engine.worker_state.get(_CACHES)
    if found is None:
        settings = engine.main.config(LdapServerConfig)
        found = Caches(
            settings.memory or SharedMemory(settings.cache_size or UNSHARED_SIZE),
            (settings.search_entries, settings.search_ttl),
            (settings.operation_entries, settings.operation_ttl),
        )
        engine.worker_state[_CACHES] = found
    return found
