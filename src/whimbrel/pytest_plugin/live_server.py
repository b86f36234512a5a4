"""LiveServer: `whimbrel serve` as a process on free ports of the loopback interface."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from base64 import b64encode
from typing import IO, Final
from urllib.parse import urlsplit

from whimbrel.api import Answer, Request, RequestError, Site
from whimbrel.api.loaded_site import MAX_BODY
from whimbrel.base.file_reading import read_start
from whimbrel.base.programs import programs_permitted, require_programs
from whimbrel.pytest_plugin.tested_answer import TestedAnswer
from whimbrel.testing.ports import free_ports

START_SECONDS: Final = 30.0
STOP_SECONDS: Final = 10.0
ANSWER_SECONDS: Final = 30.0
_INTERVAL: Final = 0.02
_MAIN: Final = "from whimbrel.cli.entry import main; main()"
MAX_OUTPUT: Final = 8192
"""Bytes of the output of a server that a failure shows."""


class ServerNotStarted(Exception):
    """A server that has ended, or does not listen; the message is its output."""


class LiveServer:
    """A server of *site*; `stop` ends it. Raises ServerNotStarted.

    Attributes:
        ports: the port that is listened on, by the port in the text.
    """

    def __init__(self, site: Site) -> None:
        ports = site.ports
        self.site = site
        self.ports = dict(zip(ports, free_ports(len(ports)), strict=True))
        self._output: IO[bytes] = tempfile.TemporaryFile()
        pairs = [word for old, new in self.ports.items() for word in ("--port", f"{old}={new}")]
        with programs_permitted():
            require_programs()
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _MAIN, "serve", "--loopback", *site.serve_arguments, *pairs],
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            self._wait()
        except BaseException:
            self.stop()
            raise

    def answer(self, request: Request) -> Answer:
        """Return the answer to *request*, from an address of the loopback interface."""
        if not request.client.startswith("127."):
            raise RequestError(f"client {request.client}: live requests come from 127.0.0.0/8")
        if request.user and request.password is None:
            raise RequestError(f"user {request.user}: live requests need a password")
        parts = urlsplit(request.url)
        if request.tls or parts.scheme == "https":
            raise RequestError("live requests do not use TLS")
        target = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
        fields = {"Host": request.host or parts.netloc or self.site.server_name, **request.headers}
        if request.user:
            credentials = b64encode(f"{request.user}:{request.password}".encode()).decode("ascii")
            fields["Authorization"] = f"Basic {credentials}"
        port = self.ports.get(parts.port or 80) or next(iter(self.ports.values()))
        connection = http.client.HTTPConnection(
            "127.0.0.1", port, timeout=ANSWER_SECONDS, source_address=(request.client, 0)
        )
        try:
            connection.putrequest(request.method, target, skip_host=True, skip_accept_encoding=True)
            for name, value in fields.items():
                connection.putheader(name, value)
            connection.endheaders()
            response = connection.getresponse()
            body = response.read(MAX_BODY + 1)
        finally:
            connection.close()
        location = response.getheader("Location") or ""
        headers = tuple(response.getheaders())
        return Answer(response.status, headers, body[:MAX_BODY], location, is_cut=len(body) > MAX_BODY)

    def stop(self) -> None:
        """End the server and its workers."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
        self._output.close()

    def _wait(self) -> None:
        """Wait until every port is listened on."""
        end = time.monotonic() + START_SECONDS
        waiting = list(self.ports.values())
        while waiting:
            if self._process.poll() is not None or time.monotonic() > end:
                raise ServerNotStarted(f"{self.site.path}: the server does not start\n{self._text()}")
            with socket.socket() as probe:
                probe.settimeout(1)
                if probe.connect_ex(("127.0.0.1", waiting[0])) == 0:
                    waiting.pop(0)
                    continue
            time.sleep(_INTERVAL)

    def _text(self) -> str:
        self._output.seek(0)
        return self._output.read()[-MAX_OUTPUT:].decode("utf-8", "replace")


class LiveAnswer(TestedAnswer):
    """An answer of a live server; the file that it sent is found in process."""

    def _mapped_file(self) -> str:
        """Return the file that the URL is mapped to, "" if the body is another one."""
        file = self._site.answer(self.request).file
        try:
            is_equal = read_start(file, MAX_BODY) == self.answer.body
        except OSError:
            return ""
        return file if is_equal else ""
