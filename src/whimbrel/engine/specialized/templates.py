"""Responses with holes: those with the files of one directory, and the pages that name a path."""

from __future__ import annotations

import os
import re
from typing import Final

from whimbrel.engine.cache.entry import CachedResponse
from whimbrel.engine.cache.fd_cache import open_if_unchanged
from whimbrel.engine.deps.files import (
    RACY_WINDOW,
    TickStatCache,
    is_settled_file,
    stat_signature,
)
from whimbrel.engine.pipeline.error import error_document
from whimbrel.engine.request import Request
from whimbrel.http.semantics.dates import format_http
from whimbrel.registry.module import FileResponse

_FIELDS: Final = (b"Last-Modified", b"ETag", b"Content-Length")
MIN_PATH: Final = 3  # bytes of a path that is in no response by chance
# what neither URLs nor pages escape
is_plain_path: Final = re.compile(rb"[A-Za-z0-9_./-]+").fullmatch
_COUNT: Final = b"\0"  # in the place of the Keep-Alive count
_PATH: Final = b"\1"  # in that of the path
_LENGTH: Final = b"\2"  # in that of the length
_LENGTH_LINE: Final = b"\r\nContent-Length: %b\r\n" % _LENGTH
_MARKS: Final = re.compile(rb"[\0-\2]").search


class FileTemplate:
    """A response with a file, for other files of its class.

    *sample* is the response without content; *head* what follows Date in it, with holes for `_FIELDS`.
    """

    __slots__ = ("_etag", "_has_body", "_head", "_in_memory", "_most", "sample")

    def __init__(self, sample: CachedResponse, head: bytes, response: FileResponse) -> None:
        r = sample.request
        self.sample = sample
        self._head = head
        self._etag = response.etag
        self._has_body = not r.header_only
        is_http2 = r.connection.is_http2
        self._in_memory = response.in_frames if is_http2 else response.in_memory
        self._most = response.in_frames if is_http2 and self._has_body else 1 << 62

    def respond(
        self, path: bytes, info: os.stat_result, now: float, stats: TickStatCache
    ) -> CachedResponse | None:
        """Return the response with the file at *path*, a regular file whose lstat is *info*.

        None if it is empty, has changed within the last second, or cannot be read; and for large files where
        the protocol does not send them from a descriptor.
        """
        size = info.st_size
        etag = self._etag(info)
        if (
            not 0 < size <= self._most
            or now * 1e9 - info.st_mtime_ns <= RACY_WINDOW
            or not is_settled_file(info)
            or etag is None
        ):
            return None
        signature = stat_signature(info)
        body = b""
        file = b""
        if self._has_body and size > self._in_memory:
            file = path  # the sender opens it, or leaves the request to the general path
        else:
            handle = open_if_unchanged(path, signature)
            if handle < 0:
                return None
            body = os.read(handle, size + 1) if self._has_body else b""
            os.close(handle)
            if self._has_body and len(body) != size:
                return None
        head = self._head % dict(zip(_FIELDS, _values(info, etag), strict=True))
        sample = self.sample
        content = sample.template.with_content(head.split(_COUNT), body, (file, signature) if file else None)
        validity = sample.validity
        own = stats.dependency(path, False, signature)
        return sample.copy(
            template=content, validity=validity.with_dependencies((*validity.dependencies, own))
        )


def file_template(sample: CachedResponse, r: Request, response: FileResponse) -> FileTemplate | None:
    """Return the template that *sample*, the response to *r*, gives; None if it has more than a file."""
    info = r.finfo
    content = sample.template
    if info is None or content.pieces or content.is_chunked or info.st_size == 0:
        return None
    etag = response.etag(info)
    size = 0 if r.header_only or content.file else info.st_size
    if etag is None or len(content.body) != size:
        return None
    texts = content.texts
    head = _COUNT.join(texts)
    if head.count(_COUNT) != len(texts) - 1:
        return None
    head = head.replace(b"%", b"%%")
    for name, value in zip(_FIELDS, _values(info, etag), strict=True):
        line = _only_line(head, name, value.replace(b"%", b"%%"))
        if not line:
            return None
        head = head.replace(line, b"\r\n%b: %%(%b)b\r\n" % (name, name))
    sample.template = content.with_content(list(texts), b"", None)
    return FileTemplate(sample, head, response)


def _values(info: os.stat_result, etag: str) -> tuple[bytes, bytes, bytes]:
    """Return the values of `_FIELDS` for a file."""
    return format_http(info.st_mtime_ns // 1_000_000_000).encode(), etag.encode(), b"%d" % info.st_size


def _only_line(head: bytes, name: bytes, value: bytes) -> bytes:
    """Return the line of *name* with its end; b"" unless it is the only one and has *value*."""
    line = b"\r\n%b: %b\r\n" % (name, value)
    return line if head.count(line) == 1 and head.lower().count(b"\r\n%b:" % name.lower()) == 1 else b""


class PathTemplate:
    """A page that names its path: *head* is what follows Date in it, with marks, as *body* has.

    *sample* is the response that both are made of.
    """

    __slots__ = ("_body", "_head", "_sample")

    def __init__(self, sample: CachedResponse, head: bytes, body: bytes) -> None:
        self._sample = sample
        self._head = head
        self._body = body

    @property
    def text(self) -> bytes:
        """Return all that is the same for every path."""
        return self._sample.template.prefix + self._head + self._body

    def respond(self, path: bytes) -> CachedResponse:
        """Return the response for *path*, of which `is_plain_path` is true."""
        body = self._body.replace(_PATH, path)
        head = self._head.replace(_LENGTH, b"%d" % len(body))
        entry = self._sample.copy(template=self._sample.template.with_content(head.split(_COUNT), body, None))
        entry.origin = self
        return entry


def page_template(cached: CachedResponse, r: Request, path: bytes) -> PathTemplate | None:
    """Return the template that *cached*, the response to *r*, gives; None unless it is a page that the server
    words and whose body has *path*, the URL's, in one place only.
    """
    body = cached.template.body
    head = _COUNT.join(cached.template.texts)
    length = _only_line(head, b"Content-Length", b"%d" % len(body))
    if (
        r.status < 400
        or len(path) <= MIN_PATH
        or is_plain_path(path) is None
        or not r.is_committed
        or error_document(r, r.status) is not None
        or _is_incomplete(cached, r)
        or not length
        or body.count(path) != 1
        or b" %b" % path not in body
    ):
        return None
    return PathTemplate(cached, head.replace(length, _LENGTH_LINE), body.replace(path, _PATH))


def _is_incomplete(cached: CachedResponse, r: Request) -> bool:
    """Return True if head and body of *cached* are not all that it sends, or if they have marks."""
    content = cached.template
    return bool(
        r.header_only
        or content.is_chunked
        or content.pieces
        or content.file
        or any(_MARKS(text) for text in (*content.texts, content.body))
    )
