"""wsgi.input and wsgi.file_wrapper."""

from __future__ import annotations

import sys
from typing import IO

from .records import STDIN, Channel, ClientGone

PARTIAL = "Partial results are valid but processing is incomplete"  # APR_INCOMPLETE


class WsgiInput:
    """wsgi.input: the body of the request, read from its records."""

    def __init__(self, channel: Channel) -> None:
        self._channel: Channel | None = channel
        self._data = b""
        self._is_done = not channel.has_body
        self._has_failed = False

    def _more(self) -> bool:
        """Read one more record of the body; return False at the end."""
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
        if not content:
            self._is_done = True
            return False
        self._data = self._data + content if self._data else content
        return True

    def _take(self, size: int) -> bytes:
        data, self._data = self._data[:size], self._data[size:]
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
        if size is None or size < 0:
            pieces = [self._data]
            self._data = b""
            while self._more():
                pieces.append(self._data)
                self._data = b""
            return b"".join(pieces)
        while len(self._data) < size and self._more():
            pass
        return self._take(size)

    def readline(self, size: int | None = -1) -> bytes:
        """Return the next line, at most *size* bytes of it."""
        self._check()
        if size == 0:
            return b""
        limit = size if size is not None and size > 0 else sys.maxsize
        seen = 0
        while True:
            end = self._data.find(b"\n", seen)
            if end >= 0:
                return self._take(min(end + 1, limit))
            seen = len(self._data)
            if seen >= limit or not self._more():
                return self._take(min(limit, len(self._data)))

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
                self._data = b""
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
