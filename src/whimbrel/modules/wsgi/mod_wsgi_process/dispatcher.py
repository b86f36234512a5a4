"""Requests and the threads that serve them: one thread waits for all connections, the others for their turn.

A thread that has served a request takes the next one that is there. Only without one it waits, so that a busy
process changes between threads for batches and not for requests, which costs a third of a small request. An
application that waits, such as for a database, would hold up other requests: a guard checks that every few
milliseconds, and then lets each request have a thread at once.

The functions of other modules are bound here: applications replace those of the modules (gevent).
"""

from __future__ import annotations

import os
import select
from _thread import LockType, allocate_lock, start_new_thread
from collections import deque
from dataclasses import dataclass
from socket import AF_UNIX, SOCK_STREAM
from socket import socket as Socket
from time import monotonic, sleep
from typing import TYPE_CHECKING

from .records import CLOSING, Channel, ClientGone, record

if TYPE_CHECKING:
    from .process import Process

TICK = 0.002  # seconds between two checks of the guard
LINGER = 10  # ticks without work until the guard sleeps
PARALLEL_TICKS = 100  # for so long each request gets a thread at once, after an application has waited
SLEEP_THRESHOLD = 0.5  # share of a tick that a thread waits while requests are there
# Requests of one connection that are served while other connections wait to be accepted, and seconds since
# the first of them. With 1, each connection that is closed for another one would let the next be closed, as
# the server opens one in its place.
MAX_PRESSED = 3
MAX_PRESSED_TIME = 0.05
_CLOSING = record(CLOSING)


class Dispatcher:
    """The connections of a process; each has a thread, a request, or neither.

    The server sends a request on an idle connection only, and there are no more connections than threads, so
    each request finds a thread. An idle connection is given up for a new one.

    Attributes:
        is_polled: a thread waits for events.
    """

    def __init__(self, process: Process) -> None:
        self._process = process
        self._capacity: int = process.settings["threads"]
        self._lock = allocate_lock()
        self._channels: dict[int, Channel] = {}
        self._idle: dict[Channel, None] = {}  # the one that is idle for longest is the first
        self._ready: deque[Channel] = deque()  # a request has come
        self._signalled: set[Channel] = set()  # something came while a thread had the connection
        self._followers: deque[LockType] = deque()
        self.is_polled = False
        self._is_abandoned = False
        self._has_guard = False
        self._guard_sleeps = self._capacity > 1  # one thread needs no guard
        self._guard_wakeup = allocate_lock()
        self._guard_wakeup.acquire()
        self._taken = 0  # requests so far
        self._polled = 0.0  # seconds of waiting for events
        self._serving: set[int] = set()  # native numbers of threads with a request
        self._parallel_ticks = 0  # for so long each request gets a thread at once
        self._pressed_at: float | None = None  # since when a connection waits, and no other one is idle
        self._listener = process.listener.fileno()
        self._epoll = select.epoll()
        self._epoll.register(process.woken, select.EPOLLIN)
        self._is_listening = False
        self._listen()

    # threads ----------------------------------------------------------------------------------------
    def next(self, native_id: int) -> Channel | None:
        """Return a connection on which something has come; None when the process ends.

        *native_id*: the system's number of the present thread.
        """
        while True:
            with self._lock:
                if self._process.is_stopping:
                    self._end()
                    return None
                if self._ready:
                    return self._take(native_id)
                wakeup = None
                if self.is_polled:
                    wakeup = allocate_lock()
                    wakeup.acquire()
                    self._followers.append(wakeup)
                else:
                    self.is_polled = True
            if wakeup is None:
                self._poll()
            else:
                wakeup.acquire()

    def _take(self, native_id: int) -> Channel:
        self._taken += 1
        self._serving.add(native_id)
        if self._guard_sleeps:
            self._wake_guard()
        return self._ready.popleft()

    def done(self, channel: Channel, native_id: int, *, keeps: bool) -> None:
        """End the use of *channel* by a thread; *keeps*: it may serve another request."""
        with self._lock:
            self._serving.remove(native_id)
            if not keeps:
                self._close(channel)
                return
            is_signalled = channel in self._signalled
            self._signalled.discard(channel)
            if is_signalled and channel.has_data():
                self._ready.append(channel)
            else:
                self._idle[channel] = None
                self._listen()  # a connection that waits may take its place

    def must_change(self, channel: Channel) -> bool:
        """Return True if *channel* is to make room for a connection that waits, after its present request."""
        since = self._pressed_at
        if since is None:
            return False
        channel.pressed += 1
        return channel.pressed >= MAX_PRESSED or monotonic() - since > MAX_PRESSED_TIME

    def _wake(self, count: int) -> None:
        while count > 0 and self._followers:
            self._followers.popleft().release()
            count -= 1

    def _end(self) -> None:
        """Let all threads end, and give up the connections on which no request was begun.

        The server sends a request that was not read to another process.
        """
        self._wake(len(self._followers))
        while self._idle:
            self._give_up()
        while self._ready:
            self._close(self._ready.popleft())

    def fail(self) -> None:
        """Let all threads end that wait, after the failure of one of them."""
        with self._lock:
            self.is_polled = False
            self._wake(len(self._followers))

    def abandon(self) -> None:
        """Leave all connections to the process that this one was forked from; none serves a request here."""
        self._lock = allocate_lock()
        self._is_abandoned = True
        for channel in self._channels.values():
            channel.abandon()
        self._epoll.close()

    # events -----------------------------------------------------------------------------------------
    def _poll(self) -> None:
        """Wait for events, and note the connections that they are for."""
        begun = monotonic()
        events = self._epoll.poll()
        with self._lock:
            self._polled += monotonic() - begun
            self.is_polled = False
            is_waiting = False
            for handle, _event in events:
                if handle == self._listener:
                    is_waiting = True
                    continue
                channel = self._channels.get(handle)
                if channel is None:
                    continue
                if channel in self._idle:
                    del self._idle[channel]
                    self._ready.append(channel)
                else:
                    self._signalled.add(channel)
            if is_waiting and not self._process.is_stopping:
                self._accept()
            if self._parallel_ticks:
                # this thread takes one of the requests, and one of the others waits for events
                self._wake(len(self._ready))

    # connections ------------------------------------------------------------------------------------
    def _listen(self) -> None:
        if not self._is_listening:
            self._epoll.register(self._listener, select.EPOLLIN)
            self._is_listening = True

    def _accept(self) -> None:
        """Accept the next connection that waits, in the place of an idle one if there are enough."""
        is_full = len(self._channels) >= self._capacity
        if is_full and not self._idle:
            self._wait_for_room()
            return
        self._pressed_at = None
        try:
            handle: int = self._process.listener._accept()[0]  # type: ignore[attr-defined]
        except (BlockingIOError, ConnectionAbortedError):
            return  # another process has taken it
        except OSError as problem:
            self._refuse(problem)
            return
        if is_full:
            self._give_up()
        connection = Socket(AF_UNIX, SOCK_STREAM, 0, handle)
        connection.setblocking(True)
        channel = Channel(connection, self._process.reports.log)
        self._channels[handle] = channel
        self._ready.append(channel)  # the server opens a connection for a request
        # by edges: a body that comes while a thread reads it wakes nobody twice
        self._epoll.register(handle, select.EPOLLIN | select.EPOLLET)

    def _refuse(self, problem: OSError) -> None:
        """Make room for a connection that cannot be accepted, such as without a descriptor for it."""
        if self._idle:
            self._give_up()  # whose descriptor is the next one's
        elif self._channels:
            self._wait_for_room()
        else:
            words = "Unable to accept connections in process '%s': %s. Daemon process will shut down."
            self._process.log("crit", words % (self._process.name, problem.strerror))
            self._process.stop()

    def _wait_for_room(self) -> None:
        """Accept no connection until one closes or is idle."""
        self._epoll.unregister(self._listener)
        self._is_listening = False
        if self._pressed_at is None:
            self._pressed_at = monotonic()
            for channel in self._channels.values():
                channel.pressed = 0

    def _give_up(self) -> None:
        """Close the connection that is idle for longest; a request that comes meanwhile goes to another."""
        channel = next(iter(self._idle))
        del self._idle[channel]
        try:
            channel.send(_CLOSING)
        except ClientGone:
            pass
        self._close(channel)

    def _close(self, channel: Channel) -> None:
        if self._is_abandoned:
            return
        handle = channel.connection.fileno()
        del self._channels[handle]
        self._signalled.discard(channel)
        try:
            # a program may have a copy of the descriptor, for whose connection events would go on
            self._epoll.unregister(handle)
            channel.connection.close()
        except OSError:
            pass  # the application has closed it
        self._listen()

    # guard ------------------------------------------------------------------------------------------
    def _wake_guard(self) -> None:
        self._guard_sleeps = False
        if self._has_guard:
            self._guard_wakeup.release()
            return
        self._has_guard = True
        try:
            start_new_thread(self._guard, ())
        except RuntimeError:  # a limit of the system; without a guard each request gets a thread at once
            self._parallel_ticks = 1

    def _guard(self) -> None:
        """Check requests while there are some; after a failure, such as MemoryError, each gets a thread."""
        try:
            while True:
                self._check_until_idle()
                self._guard_wakeup.acquire()
        except BaseException as error:
            self._process.log_failure(error)
            with self._lock:
                self._parallel_ticks = 1
                self._wake(len(self._followers))

    def _check_until_idle(self) -> None:
        """Check at each tick that requests do not wait, as long as threads wait that could serve them."""
        idle_ticks = 0
        with self._lock:
            activity = self._activity()
        while idle_ticks < LINGER:
            sleep(TICK)
            with self._lock:
                needs_help = self._followers and (self._ready or not self.is_polled)
                idle_ticks = 0 if needs_help else idle_ticks + 1
                activity = self._check(activity)
                self._guard_sleeps = idle_ticks >= LINGER

    def _check(self, before: Activity) -> Activity:
        """Wake threads if those that serve wait themselves; return the present activity.

        *before*: that at the last tick.
        """
        now = self._activity()
        is_stalled = now.taken == before.taken and not self.is_polled
        if self._parallel_ticks:
            self._parallel_ticks -= 1
        elif self._ready and now.slept_since(before) > SLEEP_THRESHOLD:
            self._parallel_ticks = PARALLEL_TICKS
        if is_stalled or self._parallel_ticks:
            self._wake(len(self._ready) + (not self.is_polled))
        return now

    def _activity(self) -> Activity:
        numbers = () if self._parallel_ticks else self._serving
        active = {number: active_time(number) for number in numbers}
        return Activity(monotonic(), self._taken, self._polled, active)


@dataclass
class Activity:
    """What the threads have done until a point in time.

    Attributes:
        time: seconds of the clock.
        taken: requests so far.
        polled: seconds that threads have waited for events.
        active: seconds that each thread with a request has run or waited for a processor (`active_time`);
            empty while each request gets a thread at once.
    """

    time: float
    taken: int
    polled: float
    active: dict[int, float]

    def slept_since(self, before: Activity) -> float:
        """Return the share of the time since *before* in which no thread has run that has a request at both
        times; 0.0 without such a thread.
        """
        known = before.active
        used = [active - known[number] for number, active in self.active.items() if number in known]
        if not used:
            return 0.0
        return 1.0 - (sum(used) + self.polled - before.polled) / (self.time - before.time)


def active_time(native_id: int) -> float:
    """Return the seconds that a thread has run or waited for a processor; 0.0 where the system does not say.

    It stands still while the thread waits for a file, a socket or a lock (schedstat of proc(5)).
    """
    try:
        handle = os.open("/proc/self/task/%d/schedstat" % native_id, os.O_RDONLY | os.O_CLOEXEC)
        try:
            ran, _blank, rest = os.read(handle, 100).partition(b" ")
        finally:
            os.close(handle)
        return (int(ran) + int(rest.partition(b" ")[0])) / 1e9
    except (OSError, ValueError):
        return 0.0
