"""A listening socket whose connections are served in threads: the base of the back ends of tests."""

from __future__ import annotations

import contextlib
import socket
import threading
from abc import ABC, abstractmethod
from typing import Self


class ThreadServer(ABC):
    """A server that runs as long as its context.

    Attributes:
        port: on 127.0.0.1; 0 with a Unix socket.
    """

    def __init__(self, listener: socket.socket | None = None) -> None:
        self._listener = listener or socket.create_server(("127.0.0.1", 0))
        is_local = self._listener.family == socket.AF_UNIX
        self.port = 0 if is_local else int(self._listener.getsockname()[1])

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_problem: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Close the listening socket; the port refuses from then on."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection = self._listener.accept()[0]
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    @abstractmethod
    def _serve(self, connection: socket.socket) -> None:
        """Serve a connection to its end, and close it."""
