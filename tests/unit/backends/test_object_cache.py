"""Readers of memcached's and Redis' replies.  Sources: memcached's protocol.txt, Redis' RESP2."""

from __future__ import annotations

from time import thread_time

import pytest

from whimbrel.backends.object_cache import (
    MAX_LINE,
    MemcacheReader,
    RedisReader,
    Reply,
    ReplyError,
    ReplyReader,
    memcache_set,
    redis_command,
)

REPLIES = [
    (MemcacheReader, b"VALUE k 0 3\r\na\r\n\r\nEND\r\n", Reply(b"a\r\n")),
    (MemcacheReader, b"END\r\n", Reply(is_done=False)),
    (MemcacheReader, b"STORED\r\n", Reply()),
    (MemcacheReader, b"NOT_FOUND\r\n", Reply(is_done=False)),
    (RedisReader, b"$3\r\nabc\r\n", Reply(b"abc")),
    (RedisReader, b"$0\r\n\r\n", Reply(b"")),
    (RedisReader, b"$-1\r\n", Reply(is_done=False)),
    (RedisReader, b"+OK\r\n", Reply()),
    (RedisReader, b":1\r\n", Reply()),
    (RedisReader, b":0\r\n", Reply(is_done=False)),
]


@pytest.mark.parametrize(("reader", "data", "reply"), REPLIES)
def test_replies_in_any_pieces(reader: type[ReplyReader], data: bytes, reply: Reply) -> None:
    for cut in range(1, len(data)):
        one = reader(100)
        assert one.feed(data[:cut]) is None and one.feed(data[cut:]) == reply


@pytest.mark.parametrize(
    ("reader", "data"),
    [
        (MemcacheReader, b"ERROR\r\n"),
        (MemcacheReader, b"VALUE k 0 101\r\n"),
        (MemcacheReader, b"VALUE k 0 x\r\n"),
        (MemcacheReader, b"VALUE k 0 1\r\naEND\r\n\r\n"),
        (MemcacheReader, b"STORED\r\nSTORED\r\n"),
        (RedisReader, b"-ERR x\r\n"),
        (RedisReader, b"$101\r\n"),
        (RedisReader, b"$-5\r\n"),
        (RedisReader, b"*1\r\n"),
        (RedisReader, b"x" * (MAX_LINE + 1)),
    ],
)
def test_bad_replies_are_bounded_errors(reader: type[ReplyReader], data: bytes) -> None:
    with pytest.raises(ReplyError):
        reader(100).feed(data)


def test_commands() -> None:
    assert memcache_set(b"k", b"ab", 60, 1000) == b"set k 0 60 2\r\nab\r\n"
    assert memcache_set(b"k", b"", 2592001, 1000) == b"set k 0 2593001 0\r\n\r\n"
    assert redis_command(b"GET", b"k") == b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"


def test_the_time_of_a_long_value_grows_with_its_length() -> None:
    size, piece = 32 << 20, bytes(4096)
    reader = MemcacheReader(size)
    begin = thread_time()
    assert reader.feed(b"VALUE k 0 %d\r\n" % size) is None
    for _ in range(size // len(piece)):
        assert reader.feed(piece) is None
    found = reader.feed(b"\r\nEND\r\n")
    assert found is not None and found.value == bytes(size)
    assert thread_time() - begin < 4
