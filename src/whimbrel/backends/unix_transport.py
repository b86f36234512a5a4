"""Transport of a Unix stream socket that is connected without waiting.

A connection to a Unix socket is there at once or not at all, so it needs neither a task nor a time limit. The
coroutines of the event loop for it cost more than the request that is sent to a program behind it.
"""

from __future__ import annotations

import asyncio
import select
import socket
from collections.abc import Callable
from select import EPOLLIN, EPOLLOUT
from socket import SocketType  # the base class of socket.socket, which adds nothing that is used here
from typing import Final, TypeVar

P = TypeVar("P", bound=asyncio.BaseProtocol)
MAX_READ: Final = 131008  # bytes of one system call; glibc maps more than 128 kB anew each time
MAX_LONG_READ: Final = 256 * 1024  # of one behind a read that was full: about what a socket holds
MAX_EVENTS: Final = 64  # of one turn of the event loop
# as numbers: the operators and the conversion of the enumerations cost as much as the system call
_FAMILY: Final = int(socket.AF_UNIX)
_KIND: Final = int(socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
HIGH: Final = 64 * 1024  # bytes that the peer has not taken, above which the protocol pauses; see asyncio


class UnixConnector:
    """Connections to Unix sockets, which one epoll instance watches: the event loop watches that alone, since
    a handle of its own for each short connection costs more system calls than the request.
    """

    __slots__ = ("_epoll", "_loop", "_transports")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._epoll = select.epoll()
        self._loop = loop
        self._transports: dict[int, UnixTransport] = {}
        loop.add_reader(self._epoll.fileno(), self._dispatch)

    def connect(self, make: Callable[[], P], path: str) -> P | None:
        """Return a protocol of *make* that is connected to *path*; None if the listener's queue is full for
        now.

        Raises OSError.
        """
        sock = _connect(path)
        if sock is None:
            return None
        protocol = make()
        assert isinstance(protocol, asyncio.Protocol)
        transport = UnixTransport(self._loop, self._epoll, sock, protocol)
        self._transports[sock.fileno()] = transport
        transport.on_end = self._transports.pop
        protocol.connection_made(transport)
        return protocol

    def _dispatch(self) -> None:
        transports = self._transports
        for fd, events in self._epoll.poll(0, MAX_EVENTS):
            transport = transports.get(fd)
            if transport is not None:
                transport.ready(events)


def _connect(path: str) -> SocketType | None:
    sock = SocketType(_FAMILY, _KIND)
    try:
        sock.connect(path)
    except BlockingIOError:
        sock.close()
        return None
    except BaseException:
        sock.close()
        raise
    return sock


class UnixTransport(asyncio.Transport):
    """See asyncio.Transport; the connector calls `connection_made`.

    Attributes:
        on_end: called with the descriptor when it is closed.
    """

    __slots__ = (
        "_buffer",
        "_epoll",
        "_events",
        "_fd",
        "_high",
        "_is_closing",
        "_is_eof",
        "_is_paused",
        "_is_reading",
        "_loop",
        "_low",
        "_protocol",
        "_read_size",
        "_sock",
        "on_end",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        epoll: select.epoll,
        sock: SocketType,
        protocol: asyncio.Protocol,
    ) -> None:
        self._loop = loop
        self._epoll = epoll
        self._sock = sock
        self._protocol = protocol
        self._fd = sock.fileno()
        self.on_end: Callable[[int], object] | None = None
        self._buffer = b""
        self._high = HIGH
        self._low = HIGH // 4
        self._is_closing = False
        self._is_eof = False
        self._is_paused = False
        self._is_reading = True
        self._events = EPOLLIN  # that epoll watches
        self._read_size = MAX_READ
        epoll.register(self._fd, EPOLLIN)

    def ready(self, events: int) -> None:
        """The descriptor has *events* of epoll."""
        if self._buffer and events & ~EPOLLIN:
            self._send()
        if self.is_reading() and events & ~EPOLLOUT:
            self._read()

    def _watch(self) -> None:
        """Let epoll watch what is wanted; it reports the end of a socket in any case."""
        events = (EPOLLIN if self.is_reading() else 0) | (EPOLLOUT if self._buffer else 0)
        if not self._events:
            if events:
                self._epoll.register(self._fd, events)
        elif events:
            self._epoll.modify(self._fd, events)
        else:
            self._epoll.unregister(self._fd)
        self._events = events

    # reading
    def _read(self) -> None:
        try:
            data = self._sock.recv(self._read_size)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as problem:
            self._close(problem)
            return
        if data:
            self._read_size = MAX_LONG_READ if len(data) >= MAX_READ else MAX_READ
            try:
                self._protocol.data_received(data)
            except Exception as failure:
                self._loop.call_exception_handler({"message": "input of a Unix socket", "exception": failure})
                self.abort()
        elif self._protocol.eof_received():
            self.pause_reading()
        else:
            self.close()

    def is_reading(self) -> bool:
        return self._is_reading and not self._is_closing

    def pause_reading(self) -> None:
        if self.is_reading():
            self._is_reading = False
            self._watch()

    def resume_reading(self) -> None:
        if not self._is_reading and not self._is_closing:
            self._is_reading = True
            self._watch()

    # writing
    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._is_closing or not data:
            return
        if self._buffer:
            self._buffer += data
        else:
            try:
                count = self._sock.send(data)
            except (BlockingIOError, InterruptedError):
                count = 0
            except OSError as problem:
                self._close(problem)
                return
            if count == len(data):
                return
            self._buffer = bytes(data[count:])
            self._watch()
        if len(self._buffer) > self._high and not self._is_paused:
            self._is_paused = True
            self._protocol.pause_writing()

    def _send(self) -> None:
        try:
            count = self._sock.send(self._buffer)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as problem:
            self._close(problem)
            return
        self._buffer = self._buffer[count:]
        if not self._buffer:
            if self._is_closing:
                self._end(None)
                return
            self._watch()
            if self._is_eof:
                self._shut()
        if self._is_paused and len(self._buffer) <= self._low:
            self._is_paused = False
            self._protocol.resume_writing()

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        if not self._is_eof and not self._is_closing:
            self._is_eof = True
            if not self._buffer:
                self._shut()

    def _shut(self) -> None:
        try:
            self._sock.shutdown(socket.SHUT_WR)
        except OSError as problem:
            self._close(problem)

    def get_write_buffer_size(self) -> int:
        return len(self._buffer)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high = HIGH if high is None else high
        self._low = self._high // 4 if low is None else low

    # the end
    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            if self._buffer:
                self._watch()
            else:
                self._end(None)

    def abort(self) -> None:
        self._close(None)

    def _close(self, problem: OSError | None) -> None:
        """End the connection now; bytes that were not sent are dropped."""
        if self._fd >= 0:
            self._buffer = b""
            self._is_closing = True
            self._end(problem)

    def _end(self, problem: OSError | None) -> None:
        """Close the descriptor, which epoll then forgets."""
        fd, self._fd = self._fd, -1
        if self.on_end is not None:
            self.on_end(fd)
        self._sock.close()
        self._loop.call_soon(self._protocol.connection_lost, problem)

    # others
    def get_extra_info(self, name: str, default: object = None) -> object:
        if name == "peername":
            return self._sock.getpeername()
        return self._sock if name == "socket" else default

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        assert isinstance(protocol, asyncio.Protocol)
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._protocol
