"""Format of mod_cache_disk's files, which httpd and htcacheclean share: names, header files, variants.

``HASH.header`` has the facts about a response, its key, its fields and those of the request; ``HASH.data``
its body. If it varies, ``HASH.header`` lists the names of fields, and the directory ``HASH.header.vary``
has the variants. Numbers are those of a 64-bit little-endian machine. Source: httpd's cache_disk_common.h.
"""

from __future__ import annotations

import hashlib
import struct

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import Final
from whimbrel.http.semantics.headers import Headers
from whimbrel.modules.cache import cache_control
from whimbrel.modules.cache.cache_control import CacheControl
from whimbrel.modules.cache.store import CacheInfo

VARY_FORMAT: Final = 5
DISK_FORMAT: Final = 6
# suffixes; that of a directory of variants
HEADER = ".header"
DATA = ".data"
VARY = ".vary"
TEMPORARY: Final = "aptmp"  # and six characters: names of files that are being written
_FACTS: Final = struct.Struct("<IiQQqqqqQQI4x")
FACTS_SIZE: Final = _FACTS.size + cache_control.SIZE
MAX_HEADER: Final = 256 * 1024  # bytes of a header file that is read
_HAS_BODY = 1
_HEADER_ONLY = 2
_LETTERS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@"
_LONGEST: Final = (1 << 63) - 1


class FormatError(ValueError):
    """A file is no complete header file; the text is for the log."""


@dataclass(slots=True)
class DiskInfo:
    """The facts at the beginning of a header file (disk_cache_info_t); times in microseconds.

    Attributes:
        version: how often the entry was stored before.
        inode, device: of the file with the body, which so belongs to this header.
        is_head_only: the response to a HEAD request, without body.
    """

    status: int
    version: int
    date: int
    expire: int
    request_time: int
    response_time: int
    inode: int
    device: int
    has_body: bool
    is_head_only: bool
    control: CacheControl

    @classmethod
    def of(cls, info: CacheInfo, *, has_body: bool, is_head_only: bool) -> DiskInfo:
        """Return the facts of a new entry, which has no file yet."""
        times = (info.date, info.expire, info.request_time, info.response_time)
        return cls(info.status, 0, *times, 0, 0, has_body, is_head_only, info.control)


def hash_name(key: str, levels: int, length: int) -> str:
    """Return the path of an entry below CacheRoot without its suffix (ap_cache_generate_name): MD5 in 22
    characters, the first in *levels* directories with names of *length*.
    """
    digest = hashlib.md5(to_bytes(key), usedforsecurity=False).digest()
    out = bytearray()
    for at in range(0, 15, 3):
        number = int.from_bytes(digest[at : at + 3], "big")
        out += bytes([_LETTERS[number >> shift & 63] for shift in (18, 12, 6, 0)])
    out += bytes((_LETTERS[digest[15] >> 2], _LETTERS[digest[15] << 4 & 63]))
    name = out.decode("ascii")
    parts = [name[level * length : (level + 1) * length] for level in range(levels)]
    return "/".join([*parts, name[levels * length :]])


def pack_header(info: DiskInfo, key: str, *tables: Headers) -> bytes:
    """Return a header file's content; *tables*: fields of both sides, none if it is invalidated."""
    name = to_bytes(key)
    flags = _HAS_BODY * info.has_body | _HEADER_ONLY * info.is_head_only
    times = [min(max(t, -_LONGEST), _LONGEST) for t in (info.date, info.expire)]
    facts = _FACTS.pack(
        DISK_FORMAT,
        info.status,
        len(name),
        info.version,
        *times,
        info.request_time,
        info.response_time,
        info.inode,
        info.device,
        flags,
    )
    return b"".join((facts, info.control.pack(), name, *map(_table, tables)))


def _table(fields: Headers) -> bytes:
    return to_bytes("".join([f"{name}: {value}\r\n" for name, value in fields]) + "\r\n")


def format_of(data: bytes) -> int:
    """Return the number that a header file begins with; 0 if it is too short."""
    return int.from_bytes(data[:4], "little") if len(data) >= 4 else 0


def unpack_facts(data: bytes) -> tuple[DiskInfo, int]:
    """Return the facts of a header file of `DISK_FORMAT`, and the length of its key.

    Raises:
        FormatError: the file is too short.
    """
    if len(data) < FACTS_SIZE:
        raise FormatError("short header file")
    (_, status, name, version, date, expire, request_time, response_time, inode, device, flags) = (
        _FACTS.unpack_from(data)
    )
    control = CacheControl.unpack(data[_FACTS.size : FACTS_SIZE])
    return DiskInfo(
        status,
        version,
        date,
        expire,
        request_time,
        response_time,
        inode,
        device,
        bool(flags & _HAS_BODY),
        bool(flags & _HEADER_ONLY),
        control,
    ), name


def key_of(data: bytes, length: int) -> str:
    """Return the key in a header file.

    Raises:
        FormatError: the file is too short.
    """
    name = data[FACTS_SIZE : FACTS_SIZE + length]
    if len(name) != length:
        raise FormatError("short header file")
    return name.decode("latin-1")


def unpack_fields(data: bytes, at: int) -> tuple[Headers, Headers, int]:
    """Return the fields of the response and of the request from position *at*, and how many of these tables
    are complete.

    Raises:
        FormatError: a line is no field.
    """
    tables = (Headers(), Headers())
    lines = data[at:].split(b"\n")
    lines.pop()  # the text behind the last line end
    number = 0
    for raw in lines:
        line = raw.removesuffix(b"\r")
        if not line:
            number += 1
            if number == len(tables):
                break
            continue
        name, colon, value = line.decode("latin-1").partition(":")
        if not colon:
            raise FormatError("a line without colon")
        tables[number].add(name, value.lstrip(" \t\n\v\f\r"))
    return *tables, number


def body_start(data: bytes, at: int) -> int:
    """Return the position behind the two tables of fields that begin at *at*."""
    for _ in range(2):
        end = at if data[at : at + 2] == b"\r\n" else data.find(b"\r\n\r\n", at) + 2
        if end < at:
            return len(data)
        at = end + 2
    return at


def pack_vary(expire: int, names: list[str]) -> bytes:
    """Return the header file of a response that varies with the fields *names*."""
    head = struct.pack("<Iq", VARY_FORMAT, min(expire, _LONGEST))
    return head + to_bytes("".join([f"{name}\r\n" for name in names]) + "\r\n")


def unpack_vary(data: bytes) -> tuple[int, list[str]]:
    """Return the time of expiry in microseconds and the names of a header file of `VARY_FORMAT`.

    Raises:
        FormatError: the list has no end.
    """
    if len(data) < 12:
        raise FormatError("short list")
    names: list[str] = []
    lines = data[12:].split(b"\n")
    lines.pop()
    for raw in lines:
        line = raw.removesuffix(b"\r")
        if not line:
            return expiry_of_list(data), names
        names.append(line.decode("latin-1"))
    raise FormatError("premature end of the list")


def expiry_of_list(data: bytes) -> int:
    """Return the time of expiry of a header file of `VARY_FORMAT` that has at least 12 bytes."""
    return int.from_bytes(data[4:12], "little", signed=True)


def variant_key(fields: Headers, names: list[str], key: str) -> str:
    """Return the key of the variant for the request *fields* (regen_key)."""
    return "".join([f"{name}{fields.get_list(name) or ''}" for name in names]) + key
