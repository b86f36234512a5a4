"""A program that gets the sockets of clients from mod_proxy_fdpass and answers on them."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import Self

RESPONSE = b"HTTP/1.0 200 OK\r\nX-Passed: yes\r\n\r\npassed\n"


class SocketReceiver:
    """A receiver on the Unix socket *path*; a context manager."""

    def __init__(self, path: Path) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        path.chmod(0o777)
        self._listener.listen(5)

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_problem: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                _, handles, _, _ = socket.recv_fds(connection, 4096, 1)
                for handle in handles:
                    with socket.socket(fileno=handle) as client:
                        client.sendall(RESPONSE)
