"""Output in small pieces, which is sent together; a thread sees to it that no piece waits.

PEP 3333, "Buffering and Streaming": a server may use a different thread to ensure that a block is transmitted
while the application produces the next one.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .records import Channel

HOLD = 0.002  # seconds that a piece waits for others, at most
RETRY = 0.05  # seconds until output is sent again that the server has not taken


class Flusher:
    """The thread that sends what channels hold; it is started with the first piece."""

    def __init__(self) -> None:
        self._channels: deque[Channel] = deque()  # whose operations are atomic
        self._event = threading.Event()
        self._starting = threading.Lock()
        self._has_started = False

    def add(self, channel: Channel) -> None:
        """Send what *channel* holds in `HOLD` seconds."""
        if not self._has_started:
            self._start()
        self._channels.append(channel)
        if not self._event.is_set():
            self._event.set()

    def _start(self) -> None:
        with self._starting:
            if not self._has_started:
                self._has_started = True
                threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            self._event.wait()
            time.sleep(HOLD)
            self._event.clear()
            if self.flush():
                time.sleep(RETRY)
                self._event.set()

    def flush(self) -> bool:
        """Send what can be sent at once; return True if something is left."""
        left = False
        for _ in range(len(self._channels)):
            channel = self._channels.popleft()
            if not channel.flush_now():
                self._channels.append(channel)
                left = True
        return left
