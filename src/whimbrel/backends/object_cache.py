"""Protocols of memcached and Redis without sockets: commands as bytes, and readers of one reply.

A reader gets the bytes of a reply by `feed` and returns a `Reply` when it is complete. Sources: memcached's
doc/protocol.txt; Redis' RESP2.
"""

from __future__ import annotations

from abc import abstractmethod

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import decimal, is_digits
from whimbrel.base.static_typing import Final

MAX_LINE: Final = 2048  # bytes of a line of a reply
MONTH: Final = 60 * 60 * 24 * 30  # seconds; memcached takes longer times for dates


class ReplyError(Exception):
    """The bytes are no reply of the server, or too many."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete reply: *value* of a get, None without one; *is_done* if a change was made."""

    value: bytes | None = None
    is_done: bool = True


class ReplyReader:
    """Reader of one reply whose value has at most *limit* bytes."""

    __slots__ = ("_buffer", "_limit", "_wanted")

    def __init__(self, limit: int) -> None:
        self._buffer = bytearray()
        self._limit = limit
        self._wanted = 0  # bytes up to the end of a value whose beginning was read

    def feed(self, data: bytes) -> Reply | None:
        """Return the reply, None if it is not complete.

        Raises:
            ReplyError: this is no reply, or it is too long; the connection is of no use any more.
        """
        self._buffer += data
        if len(self._buffer) < self._wanted:
            return None
        reply = self._parse(bytes(self._buffer))
        if reply is None and len(self._buffer) > self._limit + 2 * MAX_LINE:
            raise ReplyError("reply too long")
        return reply

    def _line(self, data: bytes) -> bytes | None:
        end = data.find(b"\r\n")
        if end > MAX_LINE or (end < 0 and len(data) > MAX_LINE):
            raise ReplyError("line too long")
        return None if end < 0 else data[:end]

    def _value(self, data: bytes, start: int, digits: bytes, tail: bytes) -> Reply | None:
        """Return the value of *digits* bytes from *start*, behind which *tail* follows."""
        text = digits.decode("latin-1")
        size = decimal(text) if is_digits(text) else self._limit + 1
        if size > self._limit:
            raise ReplyError("value too long")
        end = start + size + len(tail)
        if len(data) < end:
            self._wanted = end
            return None
        if len(data) != end or data[start + size :] != tail:
            raise ReplyError("no end of the value")
        return Reply(data[start : start + size])

    @abstractmethod
    def _parse(self, data: bytes) -> Reply | None:
        """Return the reply that *data* is."""


class MemcacheReader(ReplyReader):
    """Reader of memcached's text protocol."""

    __slots__ = ()

    def _parse(self, data: bytes) -> Reply | None:
        line = self._line(data)
        if line is None:
            return None
        words = line.split(b" ")
        if words[0] == b"VALUE" and len(words) >= 4:
            return self._value(data, len(line) + 2, words[3], b"\r\nEND\r\n")
        if len(data) != len(line) + 2:
            raise ReplyError("more than a reply")
        if line in (b"END", b"NOT_FOUND", b"NOT_STORED"):
            return Reply(is_done=False)
        if line in (b"STORED", b"DELETED"):
            return Reply()
        raise ReplyError(line.decode("latin-1"))


class RedisReader(ReplyReader):
    """Reader of RESP2: simple strings, errors, integers and bulk strings."""

    __slots__ = ()

    def _parse(self, data: bytes) -> Reply | None:
        line = self._line(data)
        if line is None:
            return None
        kind = line[:1]
        rest = line[1:]
        if kind == b"$" and rest != b"-1":
            return self._value(data, len(line) + 2, rest, b"\r\n")
        if len(data) != len(line) + 2:
            raise ReplyError("more than a reply")
        if kind == b"+" or (kind == b":" and rest != b"0"):
            return Reply()
        if line in (b"$-1", b":0"):
            return Reply(is_done=False)
        raise ReplyError(line.decode("latin-1"))


def memcache_get(key: bytes) -> bytes:
    """Return the command that reads a key of at most 250 letters."""
    return b"get %b\r\n" % key


def memcache_set(key: bytes, value: bytes, seconds: int, now: int) -> bytes:
    """Return the command that stores *value* for *seconds*."""
    expiry = seconds if seconds <= MONTH else now + seconds
    return b"set %b 0 %d %d\r\n%b\r\n" % (key, expiry, len(value), value)


def memcache_delete(key: bytes) -> bytes:
    """Return the command that removes a key."""
    return b"delete %b\r\n" % key


def redis_command(*words: bytes) -> bytes:
    """Return a command as an array of bulk strings."""
    return b"*%d\r\n" % len(words) + b"".join([b"$%d\r\n%b\r\n" % (len(word), word) for word in words])
