"""Header compression with bounds in bytes: decoder and encoder of the hpack package, with caches of field
blocks.  RFC 7541.

A client repeats its field blocks, and so does a server. A block that leaves the dynamic table unchanged is
coded once, as long as the table is the same. The module needs hpack, so it is imported when a client uses
HTTP/2.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from hpack import Decoder, Encoder
from hpack.exceptions import HPACKError, OversizedHeaderListError

from whimbrel.http.http2.protocol import (
    ConnectionFault,
    ErrorCode,
    HeadTooLong,
    RawField,
    answer_fields,
    raw_head,
)

MAX_LIST: Final = 128 * 1024  # bytes of one decoded list of fields and 32 for each field (RFC 9113, 6.5.2)
MAX_TABLE: Final = 4096  # bytes of each dynamic table, whatever the client allows (nghttp2's limit)
MAX_CACHE: Final = 64 * 1024  # bytes of each of the two caches of one connection
MAX_CACHED: Final = 8 * 1024  # bytes of one cached block
MAX_SENT_LIST: Final = 64 * 1024  # estimated bytes of a block to the client (nghttp2's limit)
MAX_HUFFMAN: Final = 256  # bytes of a value that is sent in Huffman codes
_FIELD: Final = 160  # bytes of a field besides its text: a tuple and two byte strings
_TOO_MANY_SIZES = re.compile(rb"(?:[\x20-\x3e]|\x3f[\x80-\xff]*+[\0-\x7f]){17}")


def _mark(table: Any) -> tuple[Any, int, int, bool]:
    """Return a value that changes with every change of a dynamic table: its newest entry, number of entries,
    size, and whether a new size is due.
    """
    entries = table.dynamic_entries
    return (entries[0] if entries else None), len(entries), table.maxsize, table.resized


def _same(block: tuple[Any, int, int, bool], other: tuple[Any, int, int, bool]) -> bool:
    return block[0] is other[0] and block[1:] == other[1:]


class FieldBlock:
    """One decoded field block, whose names and values have *size* bytes, with its cache key."""

    __slots__ = ("_push", "_raw", "fields", "size")

    def __init__(self, fields: list[RawField]) -> None:
        self.fields = fields
        self.size = sum([len(name) + len(value) for name, value in fields])
        self._push: bool | None = None
        self._raw = b""

    def raw_head(self, push: bool) -> bytes:
        """Return the `raw_head` of the fields, computed once for each value of *push*."""
        if self._push is not push:
            self._push, self._raw = push, raw_head(self.fields, push)
        return self._raw


class FieldDecoder:
    """Decodes the blocks of one connection.

    `known` is a cache: encoded block to `FieldBlock`; valid while the dynamic table is unchanged; bound
    `MAX_CACHE`; emptied when full.
    """

    def __init__(self) -> None:
        self._hpack = Decoder(MAX_LIST)
        self.known: dict[bytes, FieldBlock] = {}
        self.cached_bytes = 0

    def decode(self, block: bytes) -> FieldBlock:
        """Return the fields of *block*; raises ConnectionFault."""
        found = self.known.get(block)
        if found is not None:
            return found
        table = self._hpack.header_table
        before = _mark(table)
        if _TOO_MANY_SIZES.match(block) is not None:
            raise ConnectionFault(ErrorCode.COMPRESSION_ERROR)
        try:
            fields: list[Any] = list(self._hpack.decode(block, raw=True))
        except OversizedHeaderListError:
            raise ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM) from None
        except (HPACKError, IndexError, ValueError):
            raise ConnectionFault(ErrorCode.COMPRESSION_ERROR) from None
        found = FieldBlock(fields)
        if not _same(before, _mark(table)):
            self._clear()
        else:
            self._keep(block, found)
        return found

    def _keep(self, block: bytes, found: FieldBlock) -> None:
        size = len(block) + 2 * found.size + _FIELD * (len(found.fields) + 1)
        if size > MAX_CACHED:
            return
        if self.cached_bytes + size > MAX_CACHE:
            self._clear()
        self.cached_bytes += size
        self.known[block] = found

    def _clear(self) -> None:
        self.known.clear()
        self.cached_bytes = 0


class FieldEncoder:
    """Encodes the response heads of one connection.

    `known` is a cache: (head before Date, Date, head behind it) to the encoded block; valid while the dynamic
    table is unchanged; bound `MAX_CACHE`; emptied when full.

    Attributes:
        limit: estimated bytes of a block (H2MaxHeaderBlockLen)
    """

    def __init__(self, limit: int = 0) -> None:
        self._hpack = Encoder()
        self.limit = limit or MAX_SENT_LIST
        self.known: dict[tuple[bytes, bytes, bytes], bytes] = {}
        self.cached_bytes = 0
        self._written = _mark(self._hpack.header_table)

    def resize(self, size: int) -> None:
        """Obey SETTINGS_HEADER_TABLE_SIZE up to `MAX_TABLE`; the next block signals the smallest and the last
        size (RFC 7541, 4.2).
        """
        size = min(size, MAX_TABLE)
        if size != self._hpack.header_table_size:
            self._hpack.header_table_size = size
            sizes = self._hpack.table_size_changes
            self._hpack.table_size_changes = [min(sizes), size] if len(sizes) > 1 else sizes

    def head(self, before: bytes, date: bytes, after: bytes) -> bytes:
        """Return the block of an HTTP/1 response head around Date; raises HeadTooLong."""
        table = self._hpack.header_table
        mark = _mark(table)
        if not _same(self._written, mark):
            self._clear()
        key = (before, date, after)
        found = self.known.get(key)
        if found is not None:
            return found
        block = self.encode(answer_fields(before, date, after))
        self._written = _mark(table)
        size = len(before) + len(after) + len(block) + _FIELD
        if not _same(mark, self._written) or self.cached_bytes + size > MAX_CACHE:
            self._clear()
        if _same(mark, self._written) and size <= MAX_CACHED:
            self.known[key] = block
            self.cached_bytes += size
        return block

    def encode(self, fields: Sequence[RawField], *, priority: int = 5) -> bytes:
        """Return the block of *fields*, in Huffman codes where that is worth the time: it grows with the
        square of a field's length.  Raise HeadTooLong for a block that nghttp2 would not send.

        *priority*: bytes that nghttp2 reserves for a priority, which PUSH_PROMISE frames do not have.
        """
        size = sum([len(name) + len(value) for name, value in fields])
        if size + 12 * (len(fields) + 1) + priority > self.limit:
            raise HeadTooLong
        longest = max([len(value) for _name, value in fields], default=0)
        return bytes(self._hpack.encode(fields, huffman=longest <= MAX_HUFFMAN))

    def _clear(self) -> None:
        self.known.clear()
        self.cached_bytes = 0
