"""Output in small pieces, which is sent together; a thread sees to it that no piece waits.

PEP 3333, "Buffering and Streaming": a server may use a different thread to ensure that a block is transmitted
while the application produces the next one.
"""

from __future__ import annotations

from _thread import allocate_lock, start_new_thread
from collections import deque
from time import sleep
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .records import Channel

HOLD = 0.002  # seconds that a piece waits for others, at most
RETRY = 0.05  # seconds until output is sent again that the server has not taken


class Flusher:
    """The thread that sends what channels hold; it is started with the first piece."""

    def __init__(self) -> None:
        self._channels: deque[Channel] = deque()  # whose operations are atomic
        self._lock = allocate_lock()
        self._wakeup = allocate_lock()
        self._wakeup.acquire()
        self._is_awake = False
        self._has_started = False

    def add(self, channel: Channel) -> None:
        """Send what *channel* holds in `HOLD` seconds; RuntimeError if the thread cannot be started."""
        self._channels.append(channel)
        if not self._is_awake:
            self._wake()

    def _wake(self) -> None:
        with self._lock:
            if not self._has_started:
                start_new_thread(self._run, ())
                self._has_started = True
            if not self._is_awake:
                self._is_awake = True
                self._wakeup.release()

    def _run(self) -> None:
        while True:
            try:
                self._wakeup.acquire()
                sleep(HOLD)
                self._is_awake = False
                if self.flush():
                    sleep(RETRY)
                    self._wake()
            except BaseException:  # such as MemoryError; the other channels wait for this thread
                self._wake()

    def flush(self) -> bool:
        """Send what can be sent at once; return True if something is left."""
        left = False
        for _ in range(len(self._channels)):
            channel = self._channels.popleft()
            if not channel.flush_now():
                self._channels.append(channel)
                left = True
        return left
