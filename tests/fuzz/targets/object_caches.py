"""Replies of memcached and Redis: ReplyError alone; in pieces a reply is the same, and a value is read back.

The first byte selects the protocol.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.fuzz.push import splits
from whimbrel.backends.object_cache import (
    MemcacheReader,
    RedisReader,
    Reply,
    ReplyError,
    memcache_delete,
    memcache_get,
    memcache_set,
    redis_command,
)
from whimbrel.modules.cache.remote_cache import read_servers

COVERED = ("backends/object_cache.py",)
TOKENS = (
    b"VALUE k 0 5\r\nhello\r\nEND\r\n",
    b"STORED\r\n",
    b"$5\r\nhello\r\n",
    b":0\r\n",
    b"+OK\r\n",
    b"$-1\r\n",
    b"\r\n",
    b"99999999999",
)
READERS = (MemcacheReader, RedisReader)
LIMIT = 1000  # bytes of the largest value


def seeds() -> Sequence[bytes]:
    memcached = (
        b"VALUE k 0 5\r\nhello\r\nEND\r\n",
        b"END\r\n",
        b"STORED\r\n",
        b"NOT_FOUND\r\n",
        b"SERVER_ERROR x\r\n",
    )
    redis = (
        b"$5\r\nhello\r\n",
        b"$-1\r\n",
        b"+OK\r\n",
        b":1\r\n",
        b":0\r\n",
        b"-ERR x\r\n",
        b"$9999\r\n",
        b"$x\r\n",
    )
    return [*(b"\0" + reply for reply in memcached), *(b"\1" + reply for reply in redis), b"\0" + b"x" * 3000]


def run(data: bytes) -> None:
    kind = data[0] % 2 if data else 0
    reply = data[1:]
    whole = _read(kind, [reply])
    if isinstance(whole, Reply):
        for pieces in splits(reply):
            assert _read(kind, pieces) == whole
    else:
        for pieces in splits(reply):
            _read(kind, pieces)
    value = reply[:LIMIT]
    sent = b"VALUE k 0 %d\r\n%b\r\nEND\r\n" if kind == 0 else b"$%d\r\n%b\r\n"
    assert _read(kind, [sent % (len(value), value)]) == Reply(value)
    assert redis_command(b"SET", value).count(value) >= 1
    assert memcache_set(b"k", value, 5, 0).endswith(value + b"\r\n")
    assert memcache_get(b"k") != memcache_delete(b"k")
    assert all(host and 0 < port < 65536 for host, port in read_servers(reply.decode("latin-1"), 80))


def _read(kind: int, pieces: list[bytes]) -> Reply | str | None:
    """Return the reply, None if it is not complete, or "none" for other bytes."""
    reader = READERS[kind](LIMIT)
    try:
        for piece in pieces:
            found = reader.feed(piece)
            if found is not None:
                return found
    except ReplyError:
        return "none"
    return None
