"""A thread that serves requests, one after the other."""

from __future__ import annotations

import os
import threading
from _thread import allocate_lock, start_new_thread
from typing import TYPE_CHECKING

from .journal import ErrorStreams
from .records import KEEP_FLAG, REJECTED, Channel, ClientGone, NothingCame, end, record
from .request import OK, ApplicationRequest

if TYPE_CHECKING:
    from .process import Process

_REJECTED = record(REJECTED)
_ENDED_WELL = (end(OK, keeps=False), end(OK, keeps=True))


class ServingThread:
    """What one thread of a process does.

    Attributes:
        requests: that it has served.
        native_id: the system's number of the thread, 0 before its start.
        errors: its streams for wsgi.errors.
    """

    def __init__(self, process: Process, number: int) -> None:
        self.process = process
        self.number = number
        self.requests = 0
        self.native_id = 0
        self.errors = ErrorStreams()
        self._running = allocate_lock()  # held by the thread

    def start(self) -> None:
        """Start the thread, which other code sees as a foreign one, as those of mod_wsgi."""
        self._running.acquire()
        start_new_thread(self._run_thread, ())

    def has_ended(self, timeout: float) -> bool:
        """Return True if the thread ends in *timeout* seconds; -1 stands for any time."""
        return self._running.acquire(timeout=timeout)

    def _run_thread(self) -> None:
        try:
            self.serve()
        finally:
            self._running.release()

    def serve(self) -> None:
        """Serve requests until the end of the process."""
        self.native_id = threading.get_native_id()
        try:
            while self.serve_one():
                pass
        except BaseException as error:
            # it came between requests, such as MemoryError; what the thread has left undone, others wait for
            self.process.fail(error)
        if self.process.is_forked:
            os._exit(0)

    def serve_one(self) -> bool:
        """Serve the next request; return False at the end of the process."""
        dispatcher = self.process.dispatcher
        channel = dispatcher.next(self.native_id)
        if channel is None:
            return False
        keeps = False
        try:
            keeps = self._run(channel)
        except BaseException as error:
            # no memory for the line that says so, or an exception that another thread has set
            self.process.log_failure(error)
        finally:
            dispatcher.done(channel, self.native_id, keeps=keeps)
        return True

    def _run(self, channel: Channel) -> bool:
        """Serve one request of *channel*; return True if the connection may serve another one."""
        process = self.process
        try:
            # no name for the variables: `ErrorStreams` must see whether the application has kept them
            request = ApplicationRequest(process, channel, channel.variables())
        except ClientGone:
            return False  # closed without a request
        except NothingCame:
            return True
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

    def _answer(self, request: ApplicationRequest, channel: Channel) -> bool:
        status = request.answer(self)
        if status is None:
            channel.send(_REJECTED)
            return False
        keeps = (
            bool(channel.flags & KEEP_FLAG)
            and not channel.has_body
            and not self.process.dispatcher.must_change(channel)
            and not self.process.is_stopping
        )
        ending = _ENDED_WELL[keeps] if status == OK else end(status, keeps=keeps)
        channel.send(request.pending + ending)
        if request.input is not None:
            if channel.has_body:
                request.input.read_rest()
            request.input.expire()
        return keeps
