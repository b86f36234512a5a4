"""A process of mod_wsgi in this interpreter, and the server's end of its connections."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest

from whimbrel.backends.fastcgi import END_STDIN, FastcgiRole
from whimbrel.modules.wsgi.mod_wsgi.records import begin, variable_records, variable_text
from whimbrel.modules.wsgi.mod_wsgi_process.process import Process
from whimbrel.modules.wsgi.mod_wsgi_process.records import END, STDOUT, Channel
from whimbrel.modules.wsgi.mod_wsgi_process.serving import ServingThread

OFF = (
    "reports startup_timeout inactivity_timeout request_timeout graceful_timeout eviction_timeout "
    "restart_interval queue_timeout maximum_requests shutdown_timeout"
)


class Wire:
    """The server's end of a connection."""

    def __init__(self, path: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(10)
        self.socket.connect(path)
        self.channel = Channel(self.socket)

    def send(self, script: Path, query: str = "") -> None:
        """Send a request."""
        variables = {"SCRIPT_FILENAME": str(script), "mod_wsgi.process_group": "g", "QUERY_STRING": query}
        start = begin(FastcgiRole.RESPONDER, has_body=False)
        self.socket.sendall(start + variable_records(variable_text(variables.items())) + END_STDIN)

    def answer(self) -> tuple[bytes, bool]:
        """Return body and whether the connection is kept."""
        body = b""
        while True:
            kind, content = self.channel.next_record()
            if kind == STDOUT:
                body += content
            elif kind == END:
                return body.partition(b"\r\n\r\n")[2], content[5] == 1


class RunningProcess:
    """A process with some threads, in this interpreter."""

    def __init__(
        self, directory: Path, monkeypatch: pytest.MonkeyPatch, application: str, threads: int = 1
    ) -> None:
        self.script = directory / "app.wsgi"
        self.script.write_text(application)
        self.path = str(directory / "s")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(10)
        with monkeypatch.context() as patch:
            patch.setattr(os, "dup", lambda _handle, dup=os.dup: dup(self.listener.fileno()))
            settings = dict.fromkeys(OFF.split(), 0)
            self.process = Process(
                {
                    **settings,
                    "reports": -1,
                    "process_group": "g",
                    "application_group": "",
                    "threads": threads,
                    "is_multithread": threads > 1,
                    "is_multiprocess": False,
                    "apache_version": (2, 4, 71),
                }
            )
        self.threads = [ServingThread(self.process, number + 1) for number in range(threads)]
        self.thread = self.threads[0]
        self._runners: list[threading.Thread] = []

    def start(self) -> None:
        """Start the threads."""
        self._runners = [threading.Thread(target=each.serve) for each in self.threads]
        for runner in self._runners:
            runner.start()

    def serve_once(self) -> None:
        """Serve the next request, in this thread."""
        self.thread.native_id = threading.get_native_id()
        assert self.thread.serve_one()

    def ask(self, wire: Wire, query: str = "") -> tuple[bytes, bool]:
        """Return the answer to a request on *wire*."""
        wire.send(self.script, query)
        return wire.answer()

    def stop(self) -> None:
        """End the threads."""
        self.process.stop()
        for runner in self._runners:
            runner.join(10)
            assert not runner.is_alive()
        self.listener.close()
