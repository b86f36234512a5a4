"""The process that forks the processes of analysis, before the server exists: they have the user's rights.

The server asks for one with `new`, and gets its number and its socket; `end NUMBER` ends it, however long it
computes. When the server is gone, all are ended.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
from collections.abc import Callable
from typing import Final, NoReturn

MESSAGE: Final = 64
"""Bytes of a message."""
MAX_HELLO: Final = 1 << 16
"""Bytes of the first message."""
Serve = Callable[[socket.socket], None]
Prepare = Callable[[], tuple[Serve | None, bytes]]
"""What makes the function of the processes, None for none, and the first message to the server."""


def start_nursery(prepare: Prepare) -> tuple[socket.socket, bytes]:
    """Fork the nursery; return the server's end of its socket, and the first message, b"" if it has failed.

    *prepare* runs in the nursery.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sys.stdout.flush()
    sys.stderr.flush()
    if os.fork():
        theirs.close()
        return ours, ours.recv(MAX_HELLO)
    ours.close()
    status = 1
    try:
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # the terminal sends them to all; the server decides
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        serve, hello = prepare()
        gc.freeze()  # what the processes share: collections leave its pages alone
        theirs.send(hello[:MAX_HELLO])
        if serve is not None:
            _Nursery(theirs, serve).run()
        status = 0
    finally:
        os._exit(status)


class _Nursery:
    """The living processes of analysis."""

    def __init__(self, control: socket.socket, serve: Serve) -> None:
        self._control = control
        self._serve = serve
        self._children: set[int] = set()

    def run(self) -> None:
        """Fork and end processes until the server is gone."""
        while message := self._control.recv(MESSAGE):
            self._reap()
            word, _blank, number = message.decode("ascii", "replace").partition(" ")
            if word == "new":
                self._fork()
            elif word == "end" and number.isdecimal() and int(number) in self._children:
                os.kill(int(number), signal.SIGKILL)
        for pid in self._children:
            os.kill(pid, signal.SIGKILL)

    def _reap(self) -> None:
        for pid in list(self._children):
            if os.waitpid(pid, os.WNOHANG)[0]:
                self._children.discard(pid)

    def _fork(self) -> None:
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if not pid:
            self._become_child(ours, theirs)
        theirs.close()
        self._children.add(pid)
        socket.send_fds(self._control, [b"%d" % pid], [ours.fileno()])
        ours.close()

    def _become_child(self, ours: socket.socket, theirs: socket.socket) -> NoReturn:
        self._control.close()
        ours.close()
        status = 1
        try:
            self._serve(theirs)
            status = 0
        finally:
            os._exit(status)
