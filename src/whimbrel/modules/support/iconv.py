"""iconv(3) of the C library, which httpd's charset conversion (apr_xlate) calls.

Names of character sets, suffixes such as ``//TRANSLIT``, and the treatment of invalid input are those of the
system.
"""

from __future__ import annotations

import ctypes
from errno import E2BIG, EILSEQ, EINVAL
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
    pointer, size = ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t)
    library.iconv_open.restype, library.iconv_open.argtypes = ctypes.c_void_p, [ctypes.c_char_p] * 2
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

    __slots__ = ("_handle",)

    def __init__(self, target: str, source: str) -> None:
        self._handle = _LIBRARY.iconv_open(to_bytes(target), to_bytes(source))
        if self._handle == _INVALID:
            self._handle = None
            raise LookupError(f"{source} to {target}")

    def convert(self, data: bytes) -> tuple[bytes, int, int]:
        """Return the output, the number of bytes that it stands for, and the reason to stop: 0 at the end of
        *data*, EINVAL in an incomplete character, EILSEQ before one that is invalid or has no equivalent.
        """
        given = ctypes.c_char_p(data)
        place, left = ctypes.cast(given, ctypes.c_void_p), ctypes.c_size_t(len(data))
        out, reason = [], E2BIG
        while reason == E2BIG:
            room = left.value * 2 + _ROOM
            buffer = ctypes.create_string_buffer(room)
            end, free = ctypes.cast(buffer, ctypes.c_void_p), ctypes.c_size_t(room)
            done = _LIBRARY.iconv(self._handle, place, left, end, free)
            reason = ctypes.get_errno() if done == _ERROR else 0
            out.append(buffer.raw[: room - free.value])
        return b"".join(out), len(data) - left.value, reason

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


__all__ = ["EILSEQ", "EINVAL", "Iconv", "byte_table"]
