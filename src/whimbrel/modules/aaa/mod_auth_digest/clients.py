"""Clients of Digest authentication, in memory shared by all workers.

A client's number is sent as *opaque*.  An entry holds the last nonce accepted from the client and its use
count.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from struct import Struct
from typing import Final

from whimbrel.base.file_locks import lock, unlock
from whimbrel.base.lazy_dataclasses import dataclass

_HEAD: Final = Struct("<QQ")  # last client's number, last serial number of one-time nonces
_ENTRY: Final = Struct("<QQq52s")  # client, uses of its nonce, the nonce's stamp, the valid one-time nonce
MIN_CLIENTS: Final = 1000


@dataclass(slots=True)
class Client:
    """One entry; *nonce* is the client's next one-time nonce."""

    number: int
    uses: int = 0
    stamp: int = 0
    nonce: str = ""


class Clients:
    """A ring of entries, created before the workers are forked: a new client replaces the oldest."""

    def __init__(self, size: int) -> None:
        self._count = max(size // _ENTRY.size, MIN_CLIENTS)
        self._file = os.memfd_create("whimbrel-digest", os.MFD_CLOEXEC)
        length = _HEAD.size + self._count * _ENTRY.size
        os.ftruncate(self._file, length)
        self._memory = mmap.mmap(self._file, length)
        self.secret = os.urandom(20)

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            os.close(self._file)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        lock(self._file)
        try:
            yield
        finally:
            unlock(self._file)

    def _place(self, number: int) -> int:
        return _HEAD.size + number % self._count * _ENTRY.size

    def find(self, number: int) -> Client | None:
        """Return the client of that number; None if it was replaced or never existed."""
        if number <= 0:
            return None
        with self._locked():
            stored_number, uses, stamp, nonce = _ENTRY.unpack_from(self._memory, self._place(number))
        return (
            Client(number, uses, stamp, nonce.rstrip(b"\0").decode("latin-1"))
            if stored_number == number
            else None
        )

    def save(self, client: Client) -> None:
        """Write the entry back, unless another client replaced it."""
        with self._locked():
            if _ENTRY.unpack_from(self._memory, self._place(client.number))[0] == client.number:
                self._write(client)

    def _write(self, client: Client) -> None:
        _ENTRY.pack_into(
            self._memory,
            self._place(client.number),
            client.number,
            client.uses,
            client.stamp,
            client.nonce.encode("latin-1"),
        )

    def new(self) -> Client:
        """Return a new client with the next number."""
        with self._locked():
            last, serial = _HEAD.unpack_from(self._memory, 0)
            client = Client(last + 1)
            _HEAD.pack_into(self._memory, 0, client.number, serial)
            self._write(client)
        return client

    def use(self, client: Client, stamp: int, uses: int) -> int | None:
        """Count use *uses* of the nonce of *stamp*; return None, or the stored count if that is not less."""
        with self._locked():
            number, known, newest, nonce = _ENTRY.unpack_from(self._memory, self._place(client.number))
            if number != client.number or stamp < newest or (stamp == newest and uses <= known):
                return int(known)
            _ENTRY.pack_into(self._memory, self._place(number), number, uses, stamp, nonce)
        client.uses = uses
        client.stamp = stamp
        return None

    def serial(self) -> int:
        """Return the next serial number of a one-time nonce."""
        with self._locked():
            last, serial = _HEAD.unpack_from(self._memory, 0)
            _HEAD.pack_into(self._memory, 0, last, serial + 1)
        return int(serial) + 1
