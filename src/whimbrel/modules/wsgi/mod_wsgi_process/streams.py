"""wsgi.input and wsgi.file_wrapper."""

from __future__ import annotations

import sys
from typing import IO

from .records import STDIN, Channel, ClientGone

PARTIAL = "Partial results are valid but processing is incomplete"  # APR_INCOMPLETE


class WsgiInput:
    """wsgi.input: the body of the request, read from its records.

    A record stays as it came until all of it is read, so that the time of a body depends neither on the sizes
    of the reads nor on the lengths of its lines.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel: Channel | None = channel
        self._data = b""  # the present record
        self._at = 0  # what of it was read
        self._is_done = not channel.has_body
        self._has_failed = False

    def _more(self) -> bool:
        """Take the next record of the body in place of the present one, which was read; False at the end."""
        if self._channel is None:
            raise RuntimeError("request object has expired")
        if self._has_failed:
            raise OSError("Apache/mod_wsgi request data read error: Input is already in error state.")
        if self._is_done:
            return False
        try:
            while True:
                kind, content = self._channel.next_record()
                if kind == STDIN:
                    break
        except ClientGone:
            self._has_failed = True
            raise OSError("Apache/mod_wsgi request data read error: %s." % PARTIAL) from None
        self._data = content
        self._at = 0
        self._is_done = not content
        return not self._is_done

    def _take(self, stop: int) -> bytes:
        """Return the present record from where it is unread to *stop*, or to its end."""
        data = self._data[self._at : stop]
        self._at += len(data)
        return data

    def _check(self) -> None:
        if self._channel is None:
            raise RuntimeError("request object has expired")

    def close(self) -> None:
        """Do nothing, as in mod_wsgi."""
        self._check()

    def read(self, size: int | None = -1) -> bytes:
        """Return *size* bytes, less at the end; without *size* all that is left."""
        self._check()
        left = size if size is not None and size >= 0 else sys.maxsize
        pieces = []
        while True:
            piece = self._take(self._at + left)
            pieces.append(piece)
            left -= len(piece)
            if not left or not self._more():
                return piece if len(pieces) == 1 else b"".join(pieces)

    def readline(self, size: int | None = -1) -> bytes:
        """Return the next line, at most *size* bytes of it."""
        self._check()
        if size == 0:
            return b""
        left = size if size is not None and size > 0 else sys.maxsize
        pieces = []
        while True:
            end = self._data.find(b"\n", self._at, self._at + left)
            piece = self._take(end + 1 if end >= 0 else self._at + left)
            pieces.append(piece)
            left -= len(piece)
            if end >= 0 or not left or not self._more():
                return piece if len(pieces) == 1 else b"".join(pieces)

    def readlines(self, hint: int | None = 0) -> list[bytes]:
        """Return lines, until they have *hint* bytes."""
        self._check()
        lines: list[bytes] = []
        total = 0
        while True:
            line = self.readline()
            if not line:
                return lines
            lines.append(line)
            total += len(line)
            if 0 < (hint or 0) <= total:
                return lines

    def __iter__(self) -> WsgiInput:
        self._check()
        return self

    def __next__(self) -> bytes:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def read_rest(self) -> None:
        """Read what the application left of the body, so that the server can send it."""
        try:
            while self._more():
                pass
        except OSError:
            pass

    def expire(self) -> None:
        """End the object: later reads fail."""
        self._channel = None


class FileWrapper:
    """wsgi.file_wrapper."""

    def __init__(self, filelike: IO[bytes], blksize: int = 8192) -> None:
        self.filelike = filelike
        self.blksize = blksize

    def __iter__(self) -> FileWrapper:
        return self

    def __next__(self) -> bytes:
        data = self.filelike.read(self.blksize)
        if not isinstance(data, bytes):
            raise TypeError("file like object yielded non string type")
        if not data:
            raise StopIteration
        return data

    def close(self) -> None:
        """Close the file."""
        close = getattr(self.filelike, "close", None)
        if close is not None:
            close()


# the names that applications see are those of mod_wsgi
for kind, name in ((WsgiInput, "Input"), (FileWrapper, "FileWrapper")):
    kind.__module__ = "mod_wsgi"
    kind.__name__ = name
    kind.__qualname__ = name
