"""One apache2 on a configuration of a server root, asked many questions over few connections."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.differential.servers import APACHE
from whimbrel.testing.ports import free_port

Question = tuple[str, str, "str | None"]
"""Path, client address, credentials of Basic."""
_TOGETHER = 50


class Apache:
    """apache2 serving ROOT/conf/httpd.conf with the -D *names* and further *modules*; a context manager."""

    def __init__(self, root: Path, names: Sequence[str], modules: Sequence[str]) -> None:
        self.root, self.port = root, free_port()
        self.directory = root / f"run-{self.port}"
        self.directory.mkdir()
        self.argv = [
            *APACHE.argv,
            "-d",
            str(root),
            "-f",
            str(root / "conf" / "httpd.conf"),
            "-DFOREGROUND",
            *(f"-D{name}" for name in names),
        ]
        user = ("User www-data", "Group www-data") if os.getuid() == 0 else ()
        lines = [f"LoadModule {name}_module {APACHE.module_dir}/mod_{name}.so" for name in modules]
        lines += [
            *user,
            "ServerName localhost",
            f"Listen 127.0.0.1:{self.port}",
            f"PidFile {self.directory}/pid",
            "StartServers 1",
            f"DefaultRuntimeDir {self.directory}",
            f"ErrorLog {self.directory}/error_log",
            "MaxKeepAliveRequests 0",
            "LogLevel crit",
        ]
        for line in lines:
            self.argv += ["-C", line]

    def __enter__(self) -> Apache:
        with (self.directory / "output").open("wb") as sink:
            self.process = subprocess.Popen(
                self.argv, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, start_new_session=True
            )
        end = time.monotonic() + 15
        while time.monotonic() < end and self.process.poll() is None:
            # written once the port is this server's: another one may have taken the free port meanwhile
            if (self.directory / "pid").exists():
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                        return self
            time.sleep(0.02)
        self.__exit__()
        log = self.directory / "error_log"
        raise RuntimeError(
            (self.directory / "output").read_text() + (log.read_text() if log.exists() else "")
        )

    def __exit__(self, *_error: object) -> None:
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(8)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()

    def statuses(self, questions: Iterable[Question]) -> list[int]:
        """The status of each answer, in order."""
        waiting = list(questions)
        by_client: dict[str, list[int]] = {}
        for number, (_, client, _) in enumerate(waiting):
            by_client.setdefault(client, []).append(number)
        found = [0] * len(waiting)
        for client, numbers in by_client.items():
            for at in range(0, len(numbers), _TOGETHER):
                part = numbers[at : at + _TOGETHER]
                for number, status in zip(
                    part, self._asked(client, [waiting[number] for number in part]), strict=True
                ):
                    found[number] = status
        return found

    def _asked(self, client: str, questions: Sequence[Question]) -> list[int]:
        """Return the responses; httpd closes the connection after a 500, another one carries the rest."""
        found: list[int] = []
        while len(found) < len(questions):
            more = self._pipelined(client, questions[len(found) :])
            if not more:
                raise RuntimeError(f"{len(found)} answers to {len(questions)} requests")
            found += more
        return found

    def _pipelined(self, client: str, questions: Sequence[Question]) -> list[int]:
        """The answers to the first of the questions, sent at once over one connection."""
        heads = []
        for number, (target, _, user) in enumerate(questions, 1):
            host, _, path = target.rpartition("|")
            last = "Connection: close\r\n" if number == len(questions) else ""
            heads.append(
                f"HEAD {path} HTTP/1.1\r\nHost: {host or 'localhost'}\r\n"
                + (f"Authorization: Basic {user}\r\n" if user else "")
                + last
                + "\r\n"
            )
        with socket.create_connection(
            ("127.0.0.1", self.port), timeout=20, source_address=(client, 0)
        ) as connection:
            connection.sendall("".join(heads).encode())
            data = b""
            with contextlib.suppress(ConnectionResetError):
                while piece := connection.recv(65536):
                    data += piece
        return [int(head.split(b" ", 2)[1]) for head in data.split(b"\r\n\r\n") if head.startswith(b"HTTP/")]
