"""ETag of a file (httpd's ap_make_etag): inode, size and modification time in hexadecimal, as FileETag
selects.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from whimbrel.base.dialect import Dialect
from whimbrel.config.core_config import (
    ETAG_DIGEST,
    ETAG_INODE,
    ETAG_MTIME,
    ETAG_NONE,
    ETAG_SIZE,
    CoreDirConfig,
)
from whimbrel.engine.request import Request

MICROSECONDS = 1_000_000


def make_etag(r: Request, read: Callable[[], bytes] | None = None) -> str | None:
    """Return the ETag with its quotes, None without one; *read* returns the file's bytes, for FileETag
    Digest.

    A file that was changed within the last second may change again undetected: its ETag is weak, and the
    response is not cached.
    """
    bits = r.dir_config(CoreDirConfig).etag.value or default_bits(r.plan.dialect)
    if bits & ETAG_NONE or "no-etag" in r.notes:
        return None
    if bits & ETAG_DIGEST and read is not None:
        import base64  # slow imports that few sites need
        import hashlib

        return _with_list(
            r, '"' + base64.b64encode(hashlib.sha1(read(), usedforsecurity=False).digest()).decode() + '"'
        )
    info = r.finfo
    parts = [f"{r.mtime or 0:x}"] if info is None else _parts(bits, info, r.mtime or 0)
    return _with_list(r, weak_when_young(r, '"' + "-".join(parts) + '"'))


def _with_list(r: Request, tag: str) -> str:
    """Return *tag* combined with the variant list's, if the response was negotiated.

    One weak part makes the ETag weak (RFC 2295, section 9.2).
    """
    variants = r.vlist_validator
    if variants is None:
        return tag
    weak = "W/" if variants.startswith("W/") and not tag.startswith("W/") else ""
    end = '"' if r.plan.dialect.etag_inode else ""  # 2.4 loses the closing quote
    return f"{weak}{tag[:-1]};{variants.removeprefix('W/')[1:-1]}{end}"


def default_bits(dialect: Dialect) -> int:
    """Return the parts of an ETag without FileETag."""
    return ETAG_MTIME | ETAG_SIZE | (ETAG_INODE if dialect.etag_inode else 0)


def file_etag(bits: int, info: os.stat_result) -> str:
    """Return the strong ETag of a file that was not changed within the last second."""
    return '"' + "-".join(_parts(bits, info, info.st_mtime_ns // 1000)) + '"'


def _parts(bits: int, info: os.stat_result, mtime: int) -> list[str]:
    parts = [f"{info.st_ino:x}"] if bits & ETAG_INODE else []
    if bits & ETAG_SIZE:
        parts.append(f"{info.st_size:x}")
    if bits & ETAG_MTIME:
        parts.append(f"{mtime:x}")
    return parts


def weak_when_young(r: Request, tag: str) -> str:
    """Return *tag* with the prefix ``W/`` while the file is at most one second old."""
    if r.time * MICROSECONDS - (r.mtime or 0) > MICROSECONDS:
        return tag
    r.set_uncacheable()
    return f"W/{tag}"
