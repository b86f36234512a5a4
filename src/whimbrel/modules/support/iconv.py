"""iconv(3) of the C library, which httpd's charset conversion (apr_xlate) calls.

Names of character sets, suffixes such as ``//TRANSLIT``, and the treatment of invalid input are those of the
system.
"""

from __future__ import annotations

import ctypes
from errno import E2BIG
from functools import lru_cache
from typing import Any, Final

from whimbrel.base.latin1 import to_bytes

MAX_TABLES: Final = 256  # pairs of names whose table is cached
_ERROR: Final = ctypes.c_size_t(-1).value
_INVALID: Final = ctypes.c_void_p(-1).value
_ROOM: Final = 64  # bytes of output beyond the length of the input
_BYTES: Final = bytes(range(256))


def _library() -> Any:
    library = ctypes.CDLL(None, use_errno=True)
    pointer = ctypes.POINTER(ctypes.c_void_p)
    size = ctypes.POINTER(ctypes.c_size_t)
    library.iconv_open.restype = ctypes.c_void_p
    library.iconv_open.argtypes = [ctypes.c_char_p] * 2
    library.iconv.restype = ctypes.c_size_t
    library.iconv.argtypes = [ctypes.c_void_p, pointer, size, pointer, size]
    library.iconv_close.argtypes = [ctypes.c_void_p]
    return library


_LIBRARY: Final = _library()


class Iconv:
    """One conversion with its state.

    Raises:
        LookupError: the system does not convert *source* to *target*.
    """

    __slots__ = ("_buffer", "_data", "_handle", "_place")

    def __init__(self, target: str, source: str) -> None:
        self._buffer = ctypes.create_string_buffer(_ROOM)
        self._data: bytes | None = None  # of the last call
        self._place = 0  # its address
        self._handle = _LIBRARY.iconv_open(to_bytes(target), to_bytes(source))
        if self._handle == _INVALID:
            self._handle = None
            raise LookupError(f"{source} to {target}")

    def convert(self, data: bytes) -> tuple[bytes, int, int]:
        """Return the output, the number of bytes that it stands for, and the reason to stop: 0 at the end of
        *data*, EINVAL in an incomplete character, EILSEQ before one that is invalid or has no equivalent.
        """
        out = []
        count = 0
        reason = E2BIG
        while reason == E2BIG:
            piece, used, reason = self.step(data, count, (len(data) - count) * 2 + _ROOM)
            out.append(piece)
            count += used
        return b"".join(out), count, reason

    def step(self, data: bytes, start: int, room: int) -> tuple[bytes, int, int]:
        """Return what one call returns for *data* from *start*, with *room* bytes for the output: see
        `convert`; the reason is E2BIG if the room is used up.
        """
        if room > len(self._buffer):
            self._buffer = ctypes.create_string_buffer(room)
        if data is not self._data:
            self._data = data
            self._place = ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0
        place = ctypes.c_void_p(self._place + start)
        left = ctypes.c_size_t(len(data) - start)
        free = ctypes.c_size_t(room)
        end = ctypes.c_void_p(ctypes.addressof(self._buffer))
        done = _LIBRARY.iconv(self._handle, place, left, end, free)
        reason = ctypes.get_errno() if done == _ERROR else 0
        return ctypes.string_at(self._buffer, room - free.value), len(data) - start - left.value, reason

    def __del__(self) -> None:
        if self._handle is not None:
            _LIBRARY.iconv_close(self._handle)


@lru_cache(MAX_TABLES)
def byte_table(target: str, source: str) -> bytes | None:
    """Return the table of a conversion between character sets of one byte each, None for any other.

    Raises:
        LookupError: see Iconv.
    """
    out, count, _ = Iconv(target, source).convert(_BYTES)
    return out if count == len(out) == len(_BYTES) else None
