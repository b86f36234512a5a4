"""Caches of LDAP operations: bounded in entries and bytes, with a lifetime (httpd's util_ldap_cache).

One per worker. Passwords are kept as keyed digests, so that the memory of a worker has none.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Hashable
from hashlib import blake2b
from hmac import compare_digest
from threading import Lock
from typing import Any, Final

from whimbrel.base.latin1 import to_bytes

_OVERHEAD: Final = 400  # bytes of an entry beside its texts: tuples, strings, the dictionary's own
_KEY: Final = os.urandom(32)


class OperationCache:
    """Values by key, at most *entries* and *size* bytes of them, for *ttl* seconds; for several threads.

    When it is full, the oldest entries go. With no entries or bytes allowed nothing is kept.
    """

    def __init__(
        self, entries: int, ttl: float, size: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.entries, self.ttl, self.size = entries, ttl, size
        self._clock, self._lock = clock, Lock()
        self._values: dict[Hashable, tuple[Any, float, int]] = {}
        self.bytes = self.fetches = self.hits = self.inserts = self.removes = self.purges = 0

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Hashable) -> Any:
        """Return the value of *key*, None without one or with an old one."""
        with self._lock:
            self.fetches += 1
            found = self._values.get(key)
            if found is None:
                return None
            value, stored, _ = found
            if self._clock() - stored > self.ttl:
                self._drop(key)
                return None
            self.hits += 1
            return value

    def put(self, key: Hashable, value: Any, length: int) -> None:
        """Store *value*, whose texts and the key's have *length* characters."""
        weight = length + _OVERHEAD
        if self.entries <= 0 or weight > self.size:
            return
        with self._lock:
            if key in self._values:
                self._drop(key)
            while len(self._values) >= self.entries or self.bytes + weight > self.size:
                self._drop(next(iter(self._values)))
                self.purges += 1
            self._values[key] = value, self._clock(), weight
            self.bytes += weight
            self.inserts += 1

    def remove(self, key: Hashable) -> None:
        """Forget *key*."""
        with self._lock:
            if key in self._values:
                self._drop(key)

    def _drop(self, key: Hashable) -> None:
        self.bytes -= self._values.pop(key)[2]
        self.removes += 1


class Caches:
    """The caches of a worker, each with its own part of *size* bytes."""

    def __init__(self, search: tuple[int, float], operation: tuple[int, float], size: int) -> None:
        self.searches = OperationCache(*search, size // 2)
        self.comparisons = OperationCache(*operation, size // 4)
        self.names = OperationCache(operation[0], float("inf"), size // 8)
        self.subgroups = OperationCache(*operation, size // 8)


def digest(password: str) -> bytes:
    """Return a digest of *password* that has no use outside of this process."""
    return blake2b(to_bytes(password), key=_KEY).digest()


def same_password(stored: bytes, given: str) -> bool:
    """Return True if *stored* is the digest of *given*."""
    return compare_digest(stored, digest(given))
