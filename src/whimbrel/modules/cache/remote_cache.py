"""Object cache on servers of memcached or Redis: one command at a time on each pooled connection.

A value belongs to the server that the checksum of its key selects. A command on a connection that was idle is
repeated once on a new one, since the server may have restarted.
"""

from __future__ import annotations

import asyncio
import hashlib
import zlib
from collections.abc import Callable
from time import monotonic

from whimbrel.backends.object_cache import (
    MemcacheReader,
    RedisReader,
    Reply,
    ReplyError,
    ReplyReader,
    memcache_delete,
    memcache_get,
    memcache_set,
    redis_command,
)
from whimbrel.base.net import numeric_address
from whimbrel.base.numbers import decimal, is_digits
from whimbrel.base.static_typing import Any, Final
from whimbrel.engine.coroutines import yield_to_loop
from whimbrel.engine.request import Request
from whimbrel.modules.cache.object_cache import ObjectCache

MAX_IDLE: Final = 16  # connections to one server that wait for a command
SMALL: Final = 64  # bytes of the value of a reply to store and remove
Server = tuple[str, int]


class CacheConnection(asyncio.Protocol):
    """One connection: a command, then its reply."""

    def __init__(self) -> None:
        self.used_at = 0.0
        self.loop = asyncio.get_running_loop()
        self.is_open = True
        self._transport: asyncio.Transport | None = None
        self._reader: ReplyReader | None = None
        self._reply: asyncio.Future[Reply] | None = None

    def connection_made(self, transport: Any) -> None:
        """Store the transport, which need not be a class of asyncio's."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Read the reply; bytes without a command end the connection."""
        if self._reader is None or self._reply is None or self._reply.done():
            self.close()
            return
        try:
            reply = self._reader.feed(data)
        except ReplyError as problem:
            self._fail(problem)
            return
        if reply is not None:
            self._reply.set_result(reply)

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the command in progress."""
        self._fail(ReplyError("the server closed the connection"))

    def _fail(self, problem: Exception) -> None:
        self.close()
        if self._reply is not None and not self._reply.done():
            self._reply.set_exception(problem)

    async def exchange(self, command: bytes, reader: ReplyReader) -> Reply:
        """Send a command and return its reply.

        Raises:
            ReplyError: the connection ended, or the reply is none.
        """
        if not self.is_open or self._transport is None:
            raise ReplyError("closed")
        self._reader = reader
        self._reply = asyncio.get_running_loop().create_future()
        try:
            self._transport.write(command)
            return await self._reply
        except BaseException:
            self.close()
            raise
        finally:
            self._reader = None
            self._reply = None

    def close(self) -> None:
        """End the connection."""
        self.is_open = False
        if self._transport is not None:
            self._transport.close()


class RemoteCache(ObjectCache):
    """Connections of one worker to *servers*; subclasses have the commands.

    Attributes:
        get, set, delete: functions that return commands; they get the name, and to set also the value, its
            seconds and the time.
        timeout, ttl: seconds for a command; seconds after which an idle connection is not used.
    """

    __slots__ = ("_idle", "_servers", "timeout", "ttl")
    reader: Callable[[int], ReplyReader]
    get: Callable[[bytes], bytes]
    set: Callable[[bytes, bytes, int, int], bytes]
    delete: Callable[[bytes], bytes]

    def __init__(self, servers: tuple[Server, ...], timeout: float, ttl: float) -> None:
        self._servers = servers
        self.timeout = timeout
        self.ttl = ttl
        self._idle: dict[Server, list[CacheConnection]] = {server: [] for server in servers}

    async def retrieve(self, r: Request, key: bytes, limit: int) -> bytes | None:
        name = _name(key)
        reply = await self.command(r, name, self.get(name), limit)
        return None if reply is None else reply.value

    async def store(self, r: Request, key: bytes, value: bytes, seconds: int) -> bool:
        name = _name(key)
        data = self.set(name, value, seconds, int(r.engine.runtime.now()))
        reply = await self.command(r, name, data)
        return reply is not None and reply.is_done

    async def remove(self, r: Request, key: bytes) -> None:
        name = _name(key)
        await self.command(r, name, self.delete(name))

    async def command(self, r: Request, key: bytes, data: bytes, limit: int = SMALL) -> Reply | None:
        """Return the reply of the server of *key*; None if there is none in time."""
        server = self._servers[zlib.crc32(key) % len(self._servers)]
        await yield_to_loop()
        try:
            async with asyncio.timeout(self.timeout):
                return await self._exchange(r, server, data, limit)
        except (OSError, ReplyError, TimeoutError):
            return None

    async def _exchange(self, r: Request, server: Server, data: bytes, limit: int) -> Reply:
        idle = self._idle[server]
        while idle:
            connection = idle.pop()
            if connection.loop is not asyncio.get_running_loop():
                continue  # engines outside of a server run each request in a loop of its own
            if not connection.is_open or (self.ttl and monotonic() - connection.used_at > self.ttl):
                connection.close()
                continue
            try:
                return await self._on(connection, idle, data, limit)
            except ReplyError:
                break
        host, port = server
        runtime = r.engine.runtime
        address = host if numeric_address(host)[1] >= 0 else (await runtime.resolve(host) or [host])[0]
        connection = await runtime.connect(CacheConnection, (address, port), timeout=self.timeout)
        return await self._on(connection, idle, data, limit)

    async def _on(
        self, connection: CacheConnection, idle: list[CacheConnection], data: bytes, limit: int
    ) -> Reply:
        reply = await connection.exchange(data, self.reader(limit))
        connection.used_at = monotonic()
        if len(idle) < MAX_IDLE:
            idle.append(connection)
        else:
            connection.close()
        return reply


def read_servers(text: str, default_port: int) -> tuple[Server, ...]:
    """Return the servers of a comma-separated list; () if one is no host with a port."""
    out = []
    for word in text.split(","):
        host, colon, port = word.rpartition(":") if ":" in word else (word, "", "")
        number = decimal(port) if is_digits(port) else default_port
        if not host or (colon and not (port and 0 < number < 65536)):
            return ()
        out.append((host, number))
    return tuple(out)


class MemcacheCache(RemoteCache):
    """Cache on memcached; keys are hashed, as memcached takes short ones without blanks."""

    __slots__ = ()
    reader = MemcacheReader
    get = staticmethod(memcache_get)
    set = staticmethod(memcache_set)
    delete = staticmethod(memcache_delete)


class RedisCache(RemoteCache):
    """Cache on Redis."""

    __slots__ = ()
    reader = RedisReader

    @staticmethod
    def get(name: bytes) -> bytes:
        """Return the command GET."""
        return redis_command(b"GET", name)

    @staticmethod
    def set(name: bytes, value: bytes, seconds: int, now: int) -> bytes:
        """Return the command SETEX."""
        return redis_command(b"SETEX", name, b"%d" % seconds, value)

    @staticmethod
    def delete(name: bytes) -> bytes:
        """Return the command DEL."""
        return redis_command(b"DEL", name)


def _name(key: bytes) -> bytes:
    return b"whimbrel:" + hashlib.sha256(key).hexdigest().encode("ascii")
