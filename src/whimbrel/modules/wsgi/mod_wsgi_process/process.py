"""Process of an application: threads, timers, and the end."""

from __future__ import annotations

import atexit
import os
import socket
import sys
import threading
from _thread import start_new_thread
from select import select
from time import monotonic, sleep
from types import FrameType
from typing import TYPE_CHECKING, Any

from .dispatcher import Dispatcher
from .journal import Reports
from .request import constant_variables

if TYPE_CHECKING:
    from types import ModuleType

    from .serving import ServingThread


class Process:
    """The process: its scripts, threads, timers and end.

    Attributes:
        settings: what the server has sent as JSON.
        active: requests in progress, by thread: the time of the start.
        dispatcher: gives requests to its threads.
        constant: variables that all requests have.
        is_stopping: no further request is begun.
        is_forked: this is a copy that the application has made by fork(); it serves nothing.
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self._pid = os.getpid()
        self.is_forked = False
        self.name: str = settings["process_group"]
        self.group: str = settings["application_group"]
        self.reports = Reports(settings["reports"])
        self.current = threading.local()
        self.listener = socket.socket(fileno=os.dup(0))
        self.listener.setblocking(False)
        self.loading = threading.RLock()
        self.woken, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        self.counting = threading.Lock()
        self.active: dict[int, float] = {}
        self.requests = 0
        self.left = settings["maximum_requests"]
        self.is_stopping = False
        self.is_graceful = False
        self.has_reason = False
        self.modules: dict[str, ModuleType] = {}
        self.dispatcher = Dispatcher(self)
        self.constant = constant_variables(settings)
        now = monotonic()
        self.idle_since = now
        self.graceful_until: float | None = None
        self.startup_until: float | None = None
        self.started = now

    def log(self, level: str, text: str) -> None:
        """Write a line of mod_wsgi without a request."""
        self.reports.log(level, "mod_wsgi (pid=%d): %s" % (os.getpid(), text))

    # end --------------------------------------------------------------------------------------------
    def stop(self, _number: int = 0, _frame: FrameType | None = None) -> None:
        """Begin no further request, and let the main thread end the process."""
        self._exit_child()
        self.is_stopping = True
        try:
            os.write(self._wake, b"S")
        except OSError:
            pass

    def stop_gracefully(self, text: str, timeout: float) -> None:
        """Stop at once if there are no requests, else when they have ended, or after *timeout* seconds."""
        self._exit_child()
        if self.is_graceful or self.is_stopping:
            return
        if self.active and timeout:
            self.is_graceful = True
            self.graceful_until = monotonic() + timeout
            self.log("info", "%s, waiting for requests to complete '%s'." % (text, self.name))
        else:
            self.log("info", "%s, triggering immediate shutdown '%s'." % (text, self.name))
            self.stop()

    def fail(self, error: BaseException) -> None:
        """Stop after *error* in a thread that waited for requests; another process takes the place."""
        self.log_failure(error)
        self.stop()
        self.dispatcher.fail()

    def log_failure(self, error: BaseException) -> None:
        """Write *error*, which is none of the application's, if there is memory for that."""
        try:
            words = "Thread of daemon process '%s' failed between requests: %r."
            self.log("crit", words % (self.name, error))
        except BaseException:
            pass  # one more of the same

    # children ---------------------------------------------------------------------------------------
    def is_child(self) -> bool:
        """Return True in a copy of the process that the application has made by fork()."""
        return os.getpid() != self._pid

    def _exit_child(self) -> None:
        """End a child: signals are for it alone, as in mod_wsgi. Its pipe is that of the process."""
        if self.is_child():
            os._exit(255)

    def become_child(self) -> None:
        """Leave sockets, pipes and requests to the process, after fork() in a thread of it.

        What a child sent on a connection would get into the answer to a request. It may run as long as it
        likes; when its function returns to `ServingThread`, it ends.
        """
        self.is_forked = True
        self.is_stopping = True
        self.is_graceful = False
        self.left = 0
        # threads that are not in the child may have the locks
        self.counting = threading.Lock()
        self.loading = threading.RLock()
        self.dispatcher.abandon()
        self.listener.close()
        os.close(self.woken)
        os.close(self._wake)

    def wait_for_end(self, threads: list[ServingThread]) -> None:
        """Wait for the order to stop, then for the threads, at most the time for that."""
        while not self.is_stopping:
            try:
                select([self.woken], [], [])
            except BaseException as error:
                if not is_open(self.woken):
                    os._exit(1)  # the application has closed the descriptors, those of its requests, too
                self.log_failure(error)  # of a handler of the application for a signal
        self.log("info", "Shutdown requested '%s'." % self.name)
        if self.has_reason:
            self.log_stacks()
        timeout = self.settings["shutdown_timeout"] or None
        until = None if timeout is None else monotonic() + timeout
        for thread in threads:
            if not thread.has_ended(-1 if until is None else max(0.0, until - monotonic())):
                self.log("info", "Aborting process '%s'." % self.name)
                os._exit(255)
        self.log("info", "Stopping process '%s'." % self.name)
        start_new_thread(exit_after, (max(1.0, (until or monotonic()) - monotonic()),))
        atexit._run_exitfuncs()
        self.log("info", "Exiting process '%s'." % self.name)
        try:
            sys.stdout.flush()
        finally:
            os._exit(0)  # the application may have replaced the stream

    def log_stacks(self) -> None:
        """Write where the threads are."""
        self.log("info", "Dumping stack trace for active Python threads.")
        for number, frame in sys._current_frames().items():
            if number == threading.get_ident():
                continue
            words = 'Thread %d executing file "%s", line %d, in %s'
            code = frame.f_code
            self.log("info", words % (number, code.co_filename, frame.f_lineno, code.co_name))
            caller = frame.f_back
            while caller is not None:
                code = caller.f_code
                end = "," if caller.f_back is not None else "."
                words = 'called from file "%s", line %d, in %s%s'
                self.log("info", words % (code.co_filename, caller.f_lineno, code.co_name, end))
                caller = caller.f_back

    # timers -----------------------------------------------------------------------------------------
    def watch(self) -> None:
        """Look at the timers until the end; runs in a thread."""
        while not self.is_stopping:
            try:
                self.reports.beat()
                self.check_timers(monotonic())
                sleep(self.settings["tick"])
            except BaseException as error:
                self.log_failure(error)

    def check_timers(self, now: float) -> None:
        """Stop the process if a timer has expired."""
        settings = self.settings
        with self.counting:
            running = sum(now - begun for begun in self.active.values())
        name = self.name
        limit = settings["request_timeout"]
        if limit and running / max(1, settings["threads"]) >= limit:
            self.log("info", "Daemon process request time limit exceeded, stopping process '%s'." % name)
            self.has_reason = True
            self.stop()
        elif self.startup_until is not None and now >= self.startup_until:
            self.log("info", "Application startup timer expired, stopping process '%s'." % name)
            self.stop()
        elif settings["restart_interval"] and now >= self.started + settings["restart_interval"]:
            self.restart_by_timer()
        elif self.graceful_until is not None and now >= self.graceful_until:
            self.log("info", "Daemon process graceful timer expired '%s'." % name)
            self.stop()
        else:
            limit = settings["inactivity_timeout"]
            if limit and not self.active and self.requests and now >= self.idle_since + limit:
                self.log(
                    "info", "Daemon process idle inactivity timer expired, stopping process '%s'." % name
                )
                self.stop()

    def restart_by_timer(self) -> None:
        """Stop because of the restart interval."""
        if self.is_graceful:
            return
        timeout = self.settings["graceful_timeout"]
        if self.active and timeout:
            self.is_graceful = True
            self.graceful_until = monotonic() + timeout
            self.log(
                "info",
                "Application restart timer expired, waiting for requests to complete '%s'." % self.name,
            )
        else:
            self.log("info", "Application restart timer expired, stopping process '%s'." % self.name)
            self.stop()

    # requests ---------------------------------------------------------------------------------------
    def begin_request(self, number: int) -> None:
        """Count the beginning of a request of thread *number*."""
        with self.counting:
            self.active[number] = monotonic()
            self.requests += 1

    def end_request(self, number: int) -> None:
        """Count the end of a request, and stop where it was the last one."""
        with self.counting:
            self.active.pop(number, None)
            self.idle_since = monotonic()
            is_last = False
            if self.left:
                self.left -= 1
                is_last = self.left == 0
        if is_last:
            timeout = self.settings["graceful_timeout"]
            words = "Maximum requests reached, attempt a graceful shutdown '%s'."
            if self.active and timeout:
                self.is_graceful = True
                self.graceful_until = monotonic() + timeout
                self.log("info", words % self.name)
            elif not self.is_stopping:
                words = "Maximum requests reached, triggering immediate shutdown '%s'."
                self.log("info", words % self.name)
                self.stop()
        elif self.is_graceful and not self.is_stopping and not self.active:
            words = "Requests have completed, triggering immediate shutdown '%s'."
            self.log("info", words % self.name)
            self.stop()


def exit_after(seconds: float) -> None:
    """End the process if functions for its end take longer; runs in a thread."""
    sleep(seconds)
    os._exit(255)


def is_open(handle: int) -> bool:
    """Return True if *handle* is a descriptor."""
    try:
        os.fstat(handle)
    except OSError:
        return False
    return True
