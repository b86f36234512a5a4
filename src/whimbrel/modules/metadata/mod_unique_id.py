"""mod_unique_id: UNIQUE_ID, a unique identifier of each request.

2.4: time, ten random bytes of the process, counter and thread in 27 characters; 2.2: address, process, time
and counter in 24.
"""

from __future__ import annotations

import base64
import itertools
import os
import struct
from typing import TYPE_CHECKING

from whimbrel.engine.env import UNIQUE_ID_NAME, LazyEnv
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Reads, Scope
from whimbrel.registry.phases import DECLINED, POST_READ_REQUEST, HookStatus

if TYPE_CHECKING:
    from whimbrel.engine.request import Request


class IdGenerator:
    """A generator of ids in one process; a forked child reseeds it."""

    def __init__(self, old: bool) -> None:
        self.old = old
        self.pid = 0
        self.root = b""
        self.counter = itertools.count()

    def next(self, seconds: int, local_ip: str) -> str:
        """Return the id of a request that arrived at *seconds*."""
        if self.pid != os.getpid():
            self.pid = os.getpid()
            self.root = os.urandom(10)
            self.counter = itertools.count(int.from_bytes(os.urandom(2), "big"))
        number = next(self.counter) & 0xFFFF
        if not self.old:
            data = struct.pack(">I", seconds & 0xFFFFFFFF) + self.root + struct.pack(">HI", number, 0)
            return base64.b64encode(data, b"-_").decode().rstrip("=")
        address = bytes(int(p) for p in local_ip.split(".")) if local_ip.count(".") == 3 else self.root[:4]
        data = (
            struct.pack(">I", seconds & 0xFFFFFFFF)
            + address
            + struct.pack(">IHI", self.pid & 0xFFFFFFFF, number, 0)
        )
        return base64.b64encode(data, b"@-").decode().rstrip("=")


def make_id(scope: Scope) -> CompiledHook:
    """Set UNIQUE_ID; an internally redirected request keeps its id."""
    ids = IdGenerator(scope.dialect.unique_id_from_address)

    def mark(r: Request) -> HookStatus:
        """Set a lazy value: most requests never read it."""
        earlier = r.env.get("REDIRECT_UNIQUE_ID") if r.prev is not None else None
        if earlier is None:
            r.env = LazyEnv(r.env, r.deps, ids.next, int(r.time), r.connection.local_ip)
        else:
            r.env[UNIQUE_ID_NAME] = earlier
        return DECLINED

    return CompiledHook(mark, Reads.HEAD)


MODULE = Module(
    name="unique_id_module",
    source="mod_unique_id.c",
    hooks=(Hook(POST_READ_REQUEST, make_id, Order.MIDDLE),),
)
