"""Requests and the threads that serve them: one thread waits for all connections, the others for their turn.

A thread that has served a request takes the next one that is there. Only without one it waits, so that a busy
process changes between threads for batches and not for requests, which costs a third of a small request. An
application that waits, such as for a database, would hold up other requests: a guard checks that every few
milliseconds, and then lets each request have a thread at once.
"""

from __future__ import annotations

import os
import select
import threading
import time
from collections import deque
from dataclasses import dataclass
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
        self._lock = threading.Lock()
        self._channels: dict[int, Channel] = {}
        self._idle: dict[Channel, None] = {}  # the one that is idle for longest is the first
        self._ready: deque[Channel] = deque()  # a request has come
        self._signalled: set[Channel] = set()  # something came while a thread had the connection
        self._followers: deque[threading.Lock] = deque()
        self.is_polled = False
        self._has_started = False
        self._work = threading.Event()
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
                    wakeup = threading.Lock()
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
        if not self._work.is_set() and self._capacity > 1:
            self._begin_guard()
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
        return channel.pressed >= MAX_PRESSED or time.monotonic() - since > MAX_PRESSED_TIME

    def _wake(self, count: int) -> None:
        while count > 0 and self._followers:
            self._followers.popleft().release()
            count -= 1

    def _end(self) -> None:
        """Let all threads end, and give up the connections that no request needs."""
        self._wake(len(self._followers))
        while self._idle:
            self._give_up()

    # events -----------------------------------------------------------------------------------------
    def _poll(self) -> None:
        """Wait for events, and note the connections that they are for."""
        begun = time.monotonic()
        events = self._epoll.poll()
        with self._lock:
            self._polled += time.monotonic() - begun
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
            # each connection has a request; the next one that closes or is idle makes room
            self._epoll.unregister(self._listener)
            self._is_listening = False
            self._begin_pressure()
            return
        self._pressed_at = None
        try:
            connection = self._process.listener.accept()[0]
        except OSError:
            return  # another process has taken it
        if is_full:
            self._give_up()
        connection.setblocking(True)
        channel = Channel(connection, self._process.reports.log)
        self._channels[connection.fileno()] = channel
        self._ready.append(channel)  # the server opens a connection for a request
        # by edges: a body that comes while a thread reads it wakes nobody twice
        self._epoll.register(connection.fileno(), select.EPOLLIN | select.EPOLLET)

    def _begin_pressure(self) -> None:
        if self._pressed_at is None:
            self._pressed_at = time.monotonic()
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
        del self._channels[channel.connection.fileno()]
        self._signalled.discard(channel)
        channel.connection.close()
        self._listen()

    # guard ------------------------------------------------------------------------------------------
    def _begin_guard(self) -> None:
        self._work.set()
        if not self._has_started:
            self._has_started = True
            threading.Thread(target=self._guard, daemon=True).start()

    def _guard(self) -> None:
        """Check at each tick that requests do not wait, as long as there are some."""
        while True:
            self._work.wait()
            idle_ticks = 0
            with self._lock:
                activity = self._activity()
            while idle_ticks < LINGER:
                time.sleep(TICK)
                with self._lock:
                    idle_ticks = idle_ticks + 1 if self.is_polled and not self._ready else 0
                    activity = self._check(activity)
            self._work.clear()
            with self._lock:
                if not self.is_polled:
                    self._work.set()

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
        return Activity(time.monotonic(), self._taken, self._polled, active)


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
