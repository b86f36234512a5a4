"""FastCGI's records as the process of an application reads and writes them, with types of its own.

The content of PARAMS records is text between NULs: name, value, name, value.
"""

from __future__ import annotations

import socket
import struct
from _thread import allocate_lock
from collections.abc import Callable
from typing import TYPE_CHECKING

from .gathering import Flusher

if TYPE_CHECKING:
    WriteLine = Callable[[str, str], None]
    Piece = bytes | memoryview

HEADER = struct.Struct(">BBHHBx")
MAX_CONTENT = 65528  # bytes of a record, a multiple of 8
BEGIN = 1
END = 3
PARAMS = 4
STDIN = 5
STDOUT = 6
LOG = 64  # a letter for the level, and a line
ACCEPTED = 65  # the body may come
REJECTED = 66  # another process is to serve the request
CLOSING = 67  # of a connection without a request: the next request is to come on another one
KEEP_FLAG = 1  # of BEGIN: the connection may serve further requests
ACCEPT_FLAG = 2  # of BEGIN: the body comes after ACCEPTED
AUTHORIZER = 2  # the role of access scripts
LEVELS = {"error": b"e", "info": b"i", "debug": b"d", "crit": b"c"}
MAX_LINE = 8192  # bytes of a line in the log
MAX_PARAMS = 4 << 20  # bytes of the variables of a request
BLOCK = 65536
# Bytes and pieces of output that are held back; a piece of at most 16384 bytes may come on top. All of it
# fits into a Unix socket, whose buffer has 208 kB by default, so the application goes on at once.
MAX_HELD = 114688
MAX_PIECES = 512
FEW = 32  # pieces that cost less in one system call than joined
GATHERED = 8  # records of a long output in one system call


FLUSHER = Flusher()


class ClientGone(Exception):
    """The server has closed the connection of a request."""


class NothingCame(Exception):
    """An event was about what is read: no request is there."""


def record(kind: int, content: bytes = b"") -> bytes:
    """Return one record."""
    return HEADER.pack(1, kind, 1, len(content), 0) + content


def records(kind: int, data: bytes) -> bytes:
    """Return the records with *data*."""
    if len(data) <= MAX_CONTENT:
        return HEADER.pack(1, kind, 1, len(data), 0) + data
    return b"".join([record(kind, data[at : at + MAX_CONTENT]) for at in range(0, len(data), MAX_CONTENT)])


def end(status: int, *, keeps: bool) -> bytes:
    """Return the record that ends a request; *keeps*: the connection may serve another one."""
    return record(END, struct.pack(">IBB2x", status, 0, keeps))


def parsed(content: bytes) -> dict[str, object]:
    """Return the variables in *content*."""
    texts = iter(content.decode("latin-1").split("\0"))
    return dict(zip(texts, texts))  # noqa: B905 - strict is unknown to Python 3.8


# A usual request without a body: BEGIN, one record of variables, their end, and the end of the body.
PLAIN_BEGIN = record(BEGIN, struct.pack(">HB5x", 1, KEEP_FLAG))
PLAIN_END = record(PARAMS) + record(STDIN)
_PARAMS_AT = len(PLAIN_BEGIN)
_CONTENT_AT = _PARAMS_AT + HEADER.size
_AROUND = _CONTENT_AT + len(PLAIN_END)


def plain_content(data: bytes) -> bytes | None:
    """Return the variables in *data* if it is a usual request without a body, all of it; None otherwise."""
    size = len(data) - _AROUND
    if size < 0 or not data.startswith(PLAIN_BEGIN) or not data.endswith(PLAIN_END):
        return None
    if HEADER.unpack_from(data, _PARAMS_AT) != (1, PARAMS, 1, size, 0):
        return None
    return data[_CONTENT_AT : _CONTENT_AT + size]


class Channel:
    """A connection of the server: records of its requests, read and written.

    Attributes:
        write_line: takes level and text of a line when the server has closed the connection.
        writer: the response whose output the server expects; None between responses. Threads of an
            application may keep one: what they write later must not get into the answer to the next request.
        role, flags: of the present request.
        has_body: the end of its body has not been read.
        pressed: its requests at which other connections waited.
    """

    def __init__(self, connection: socket.socket, write_line: WriteLine | None = None) -> None:
        self.connection = connection
        self.write_line = write_line
        self.writer: object = None
        self._data = bytearray()
        self.role = 1
        self.flags = 0
        self.has_body = True
        self.is_gone = False
        self.pressed = 0
        # output that is held back, under the lock: pieces, and records that the server has not taken
        self._lock = allocate_lock()
        self._held: list[bytes] = []  # records: the place for a header, then pieces
        self._held_size = 0
        self._header_at = 0  # of the last record, whose header is not set
        self._record_size = 0
        self._unsent = b""
        self._problem: OSError | None = None  # of the thread that flushes

    def abandon(self) -> None:
        """Leave the connection to the process that this one was forked from; lines go to `write_line`."""
        self._lock = allocate_lock()  # another thread of that process may have the present one
        self.is_gone = True
        self.connection.close()

    def _receive(self, flags: int = 0) -> bytes:
        """Return the next bytes; raises ClientGone, and NothingCame if *flags* say not to wait."""
        try:
            data = self.connection.recv(BLOCK, flags)
        except BlockingIOError:
            raise NothingCame from None
        except OSError:
            data = b""
        if not data:
            self.is_gone = True
            raise ClientGone
        return data

    def has_data(self) -> bool:
        """Return True if a part of a request is here, or the end of the connection."""
        if self._data:
            return True
        try:
            self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            pass
        return True

    def _fill(self, size: int) -> None:
        """Read until *size* bytes are here; raises ClientGone."""
        while len(self._data) < size:
            self._data += self._receive()

    def next_record(self) -> tuple[int, bytes]:
        """Return type and content of the next record."""
        self._fill(8)
        _version, kind, _request, size, padding = HEADER.unpack_from(self._data)
        stop = 8 + size + padding
        self._fill(stop)
        content = bytes(self._data[8 : 8 + size])
        del self._data[:stop]
        if kind == STDIN and not content:
            self.has_body = False
        return kind, content

    def variables(self) -> dict[str, object]:
        """Read the beginning of the next request; return its variables. Raises ClientGone and NothingCame.

        One thread may learn of bytes that another one reads before: no thread waits for a request here.
        """
        if not self._data:
            data = self._receive(socket.MSG_DONTWAIT)
            content = plain_content(data)
            if content is not None:
                self.role = 1
                self.flags = KEEP_FLAG
                self.has_body = False
                return parsed(content)
            self._data += data
        self.has_body = True
        return self._all_variables()

    def _all_variables(self) -> dict[str, object]:
        content = b""
        while True:
            kind, piece = self.next_record()
            if kind == BEGIN:
                self.role, self.flags = struct.unpack_from(">HB", piece)
            elif kind == PARAMS:
                if not piece:
                    break
                content = content + piece if content else piece
                if len(content) > MAX_PARAMS:
                    raise ClientGone
        # by bytes that are not read when the process is killed, the server knows that nothing has run
        while self.has_body and not self.flags & ACCEPT_FLAG:
            self.next_record()
        return parsed(content)

    def send(self, data: bytes) -> None:
        """Send *data*; raises ClientGone, with mod_wsgi's words for the application."""
        with self._lock:
            self._check()
            self._write(data)

    def _check_writer(self, writer: object) -> None:
        if writer is not self.writer:
            raise RuntimeError("request object has expired")

    def output(self, data: bytes, writer: object) -> None:
        """Send records with output of *writer*; raises ClientGone."""
        with self._lock:
            self._check_writer(writer)
            self._check()
            self._write(data)

    def hold(self, data: bytes, writer: object) -> None:
        """Send output of *writer*, together with what follows soon; raises ClientGone."""
        with self._lock:
            if writer is not self.writer or self.is_gone or self._problem is not None:
                self._check_writer(writer)
                self._check()
            size = len(data)
            held = self._held
            record_size = self._record_size + size
            if not held or record_size > MAX_CONTENT:
                self._begin_record()
                record_size = size
            self._record_size = record_size
            held.append(data)
            self._held_size += size
            if self._held_size >= MAX_HELD or len(held) >= MAX_PIECES:
                self._write(b"")

    def _begin_record(self) -> None:
        held = self._held
        if held:
            self._end_record()
        else:
            FLUSHER.add(self)
        self._header_at = len(held)
        held.append(b"")

    def _end_record(self) -> None:
        self._held[self._header_at] = HEADER.pack(1, STDOUT, 1, self._record_size, 0)

    def flush_now(self) -> bool:
        """Send what is held, as far as that does not wait; return False if something is left."""
        if not self._lock.acquire(False):
            return False
        try:
            data = b"".join(self._taken())
            if self.is_gone or not data:
                return True
            try:
                sent = self.connection.send(data, socket.MSG_DONTWAIT)
            except BlockingIOError:
                sent = 0
            except OSError as problem:
                self._problem = problem
                return True
            self._unsent = data[sent:]
            return not self._unsent
        except BaseException:  # what was taken is lost, so the answer must not end in good order
            self.is_gone = True
            return True
        finally:
            self._lock.release()

    def _check(self) -> None:
        if self.is_gone:
            raise ClientGone("client connection closed.")
        problem, self._problem = self._problem, None
        if problem is not None:
            self._fail(problem)

    def _taken(self) -> list[Piece]:
        """Return what was held back, which is then no longer."""
        pieces: list[Piece] = []
        if self._unsent:
            pieces.append(self._unsent)
            self._unsent = b""
        if self._held:
            self._end_record()
            pieces += self._held
            self._held.clear()
            self._held_size = 0
        return pieces

    def _write(self, data: bytes) -> None:
        try:
            if self._held or self._unsent:
                pieces = [*self._taken(), data] if data else self._taken()
                send_pieces(self.connection, pieces if len(pieces) <= FEW else [b"".join(pieces)])
            else:
                self.connection.sendall(data)
        except BaseException as problem:
            self._fail(problem)

    def _fail(self, problem: BaseException) -> None:
        """End the use of the connection: nobody knows what of a record was sent."""
        self.is_gone = True
        if not isinstance(problem, OSError):
            raise problem  # such as MemoryError
        raise ClientGone("failed to write response data: %s" % problem.strerror) from None

    def send_output(self, before: bytes, data: bytes, writer: object) -> None:
        """Send *before*, then records with *writer*'s *data*, which is not copied; raises ClientGone."""
        with self._lock:
            self._check_writer(writer)
            self._check()
            self._send_output(b"".join([*self._taken(), before]), memoryview(data))

    def _send_output(self, before: bytes, view: memoryview) -> None:
        pieces: list[Piece] = [before] if before else []
        try:
            for at in range(0, len(view), MAX_CONTENT):
                content = view[at : at + MAX_CONTENT]
                pieces += (HEADER.pack(1, STDOUT, 1, len(content), 0), content)
                if len(pieces) >= 2 * GATHERED:
                    send_pieces(self.connection, pieces)
                    pieces = []
            if pieces:
                send_pieces(self.connection, pieces)
        except BaseException as problem:
            self._fail(problem)

    def log(self, level: str, text: str | bytes) -> None:
        """Write a line to the log of the request."""
        line = text.encode("utf-8", "replace") if isinstance(text, str) else text
        try:
            self.send(record(LOG, LEVELS[level] + line[:MAX_LINE]))
        except ClientGone:
            if self.write_line is not None:
                self.write_line(level, line.decode("utf-8", "replace"))

    def log_error(self, line: bytes) -> None:
        """Write a line at level error."""
        self.log("error", line)


def send_pieces(connection: socket.socket, pieces: list[Piece]) -> None:
    """Send all of *pieces*, which are not joined."""
    sent = connection.sendmsg(pieces)
    for piece in pieces:
        if sent >= len(piece):
            sent -= len(piece)
        elif sent:
            connection.sendall(memoryview(piece)[sent:])
            sent = 0
        else:
            connection.sendall(piece)
