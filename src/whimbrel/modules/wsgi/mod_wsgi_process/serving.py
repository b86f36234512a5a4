"""A thread that serves requests: it waits for connections, and for requests on the one that it keeps.

The server sends a request on an idle connection only, so a thread that keeps one is free to serve it at once.
A thread gives its idle connection up for a new one: no connection waits while a thread has nothing to do.
"""

from __future__ import annotations

import select
import time
from typing import TYPE_CHECKING

from .journal import ErrorStreams
from .records import CLOSING, KEEP_FLAG, REJECTED, Channel, ClientGone, end, record
from .request import OK, ApplicationRequest

if TYPE_CHECKING:
    from .process import Process

# Requests of one connection that a thread serves while others wait. With 1, each connection that is closed
# for another one would let the next be closed, as the server opens one in its place.
MAX_PRESSED = 3
MAX_PRESSED_TIME = 0.05  # seconds that these requests may take
_REJECTED = record(REJECTED)
_CLOSING = record(CLOSING)
_ENDED_WELL = (end(OK, keeps=False), end(OK, keeps=True))


class ServingThread:
    """What one thread of a process does.

    Attributes:
        persistent: the connection whose next request it serves; None without one.
        is_free: it waits, and has no connection.
        requests: that it has served.
        errors: its streams for wsgi.errors.
    """

    def __init__(self, process: Process, number: int) -> None:
        self.process = process
        self.number = number
        self.requests = 0
        self.persistent: Channel | None = None
        self.is_free = False
        self._is_listening = False
        self.errors = ErrorStreams()
        self._persistent_handle = -1
        self._pressed = 0  # requests in a row at which other connections waited
        self._pressed_at = 0.0  # when the first of them began
        self._listener = process.listener.fileno()
        self._epoll = select.epoll()
        self._epoll.register(process.woken, select.EPOLLIN)
        self._listen()

    def _listen(self) -> None:
        # exclusive: a connection wakes one of the threads that wait
        self._epoll.register(self._listener, select.EPOLLIN | select.EPOLLEXCLUSIVE)
        self._is_listening = True

    def _stop_listening(self) -> None:
        if self._is_listening:
            self._epoll.unregister(self._listener)
            self._is_listening = False

    def rearm(self) -> None:
        """Wake the thread if a connection waits; `Process.accepting` is held."""
        self._stop_listening()
        self._listen()

    def serve(self) -> None:
        """Serve requests until the end of the process."""
        while True:
            channel = self._next()
            if channel is None:
                break
            if self._run(channel):
                self._keep(channel)
            else:
                self._close(channel)
        self.is_free = False
        if self.persistent is not None:
            self._give_up(self.persistent)

    # connections ------------------------------------------------------------------------------------
    def _next(self) -> Channel | None:
        """Return the connection with the next request; None at the end."""
        process = self.process
        wait = self._epoll.poll
        while True:
            if self.persistent is None and not self.is_free:
                self._be_free()
            events = wait()
            if process.is_stopping:
                return None
            handles = [handle for handle, _event in events]
            is_waiting = self._listener in handles
            if self._persistent_handle in handles:
                is_pressed = is_waiting and not any(each.is_free for each in process.serving)
                if is_pressed and not self._pressed:
                    self._pressed_at = time.monotonic()
                self._pressed = self._pressed + 1 if is_pressed else 0
                return self.persistent
            channel = self._accepted() if is_waiting else None
            if channel is not None:
                self._pressed = 0
                return channel

    def _be_free(self) -> None:
        """Take the next new connection."""
        with self.process.accepting:
            self.is_free = True
            if not self._is_listening:
                self._listen()

    def _accepted(self) -> Channel | None:
        """Return a new connection; None if another thread or process is to take it, or has done so.

        A thread with an idle connection leaves a new one to a thread without, and listens again when there is
        none of those. Else each new connection would cost an idle one, in whose place the server opens the
        next.
        """
        process = self.process
        with process.accepting:
            if self.persistent is not None:
                free = next((each for each in process.serving if each.is_free), None)
                if free is not None:
                    self._stop_listening()
                    free.rearm()
                    return None
            try:
                connection = process.listener.accept()[0]
            except OSError:
                return None
            self.is_free = False
            if not any(each.is_free for each in process.serving):
                for each in process.serving:
                    if not each._is_listening:
                        each._listen()
        connection.setblocking(True)
        if self.persistent is not None:
            self._give_up(self.persistent)
        return Channel(connection, process.reports.log)

    def _keep(self, channel: Channel) -> None:
        if self.persistent is not channel:
            self.persistent = channel
            self._persistent_handle = channel.connection.fileno()
            self._epoll.register(self._persistent_handle, select.EPOLLIN)

    def _give_up(self, channel: Channel) -> None:
        """Close an idle connection; a request that comes meanwhile goes to another one."""
        try:
            channel.send(_CLOSING)
        except ClientGone:
            pass
        self._close(channel)

    def _close(self, channel: Channel) -> None:
        if channel is self.persistent:
            self.persistent = None
            self._persistent_handle = -1
        channel.connection.close()

    # requests ---------------------------------------------------------------------------------------
    def _run(self, channel: Channel) -> bool:
        """Serve one request of *channel*; return True if the connection may serve another one."""
        process = self.process
        try:
            # no name for the variables: `ErrorStreams` must see whether the application has kept them
            request = ApplicationRequest(process, channel, channel.variables())
        except ClientGone:
            return False  # closed without a request
        process.begin_request(self.number)
        try:
            return self._answer(request, channel)
        except ClientGone:
            return False
        except BaseException as error:
            # of code of the application outside of its call, such as a property; the thread serves on
            request.log_exception(request.shown, error)
            return False
        finally:
            process.current.log = None
            process.end_request(self.number)

    def _must_change(self) -> bool:
        """Return True if a connection that waits is to have its turn."""
        if not self._pressed:
            return False
        return self._pressed >= MAX_PRESSED or time.monotonic() - self._pressed_at > MAX_PRESSED_TIME

    def _answer(self, request: ApplicationRequest, channel: Channel) -> bool:
        status = request.answer(self)
        if status is None:
            channel.send(_REJECTED)
            return False
        keeps = (
            bool(channel.flags & KEEP_FLAG)
            and not channel.has_body
            and not self._must_change()
            and not self.process.is_stopping
        )
        ending = _ENDED_WELL[keeps] if status == OK else end(status, keeps=keeps)
        channel.send(request.pending + ending)
        if request.input is not None:
            if channel.has_body:
                request.input.read_rest()
            request.input.expire()
        return keeps
