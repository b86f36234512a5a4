"""A server under systemd's own programs: `systemd-socket-activate` opens its sockets and starts it, and
`systemd-notify` shows what a message of sd_notify(3) looks like.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.conftest import ServerProcess, everything

from whimbrel.testing.ports import free_port

LOAD = "LoadModule systemd_module m/mod_systemd.so\n"


def tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"no {name} here")
    return found


class Manager:
    """The socket of a service manager."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.settimeout(60)

    def message(self) -> dict[str, str]:
        """Return the variables of the next message."""
        lines = self.socket.recv(4096).decode().split("\n")
        return dict(line.split("=", 1) for line in lines if line)

    def until(self, name: str) -> dict[str, str]:
        """Return the next message with the variable *name*."""
        while name not in (found := self.message()):
            pass
        return found


@pytest.fixture
def manager(server: ServerProcess) -> Iterator[Manager]:
    found = Manager(server.root / "notify")
    server.environment["NOTIFY_SOCKET"] = found.path
    with found.socket:
        yield found


def test_messages_have_the_form_of_systemd_notify(server: ServerProcess, manager: Manager) -> None:
    (server.root / "conf/extra.conf").write_text(LOAD)
    words = [tool("systemd-notify"), "--no-block", "--ready", f"--pid={os.getpid()}"]
    words.append("--status=Processing requests...")
    subprocess.run(words, env=server.environment, check=True)
    theirs = manager.message()
    server.start()
    assert server.process is not None
    ours = manager.until("READY")
    assert ours == {**theirs, "MAINPID": str(server.process.pid)}


def test_a_reload_and_a_stop_are_announced(server: ServerProcess, manager: Manager) -> None:
    """Type=notify-reload needs the time of RELOADING=1 in microseconds of CLOCK_MONOTONIC."""
    (server.root / "conf/extra.conf").write_text(LOAD)
    server.environment["WATCHDOG_USEC"] = "1000000"
    server.start()
    assert server.process is not None
    manager.until("READY")
    assert manager.until("WATCHDOG") == {"WATCHDOG": "1"}
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    server.signal(signal.SIGUSR1)
    reloading = manager.until("RELOADING")
    after = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    assert reloading["RELOADING"] == "1" and before <= int(reloading["MONOTONIC_USEC"]) <= after
    assert manager.until("READY")["READY"] == "1"
    server.signal(signal.SIGTERM)
    assert manager.until("STOPPING")["STOPPING"] == "1"
    assert server.process.wait(60) == 0


def test_sockets_of_several_listen_lines(server: ServerProcess, manager: Manager) -> None:
    """The first request starts the server; all of them are answered, before and after a reload."""
    program = tool("systemd-socket-activate")
    ports = [server.port, free_port(), free_port()]
    lines = "".join(f"Listen 127.0.0.1:{port}\n" for port in ports[1:])
    (server.root / "conf/extra.conf").write_text(LOAD + lines)
    words = [word for port in ports for word in ("-l", f"127.0.0.1:{port}")]
    names = "--fdname=first:second:third"
    server.process = subprocess.Popen(
        [program, *words, names, "-E", f"NOTIFY_SOCKET={manager.path}", *server.command("-DFOREGROUND")],
        cwd=server.root,
        stderr=subprocess.DEVNULL,
        env=server.environment,
    )
    server.wait_for(lambda: server.ended() or _is_open(ports[0]))
    answers = [_answer(port) for port in (ports[0], *ports)]
    assert all(answer.endswith(b"hello\n") for answer in answers)
    assert manager.until("READY")["MAINPID"] == str(server.process.pid)
    server.signal(signal.SIGUSR1)
    manager.until("RELOADING")
    manager.until("READY")
    assert all(_answer(port).endswith(b"hello\n") for port in ports)
    passed = {os.readlink(f"/proc/{server.process.pid}/fd/{handle}") for handle in (3, 4, 5)}
    assert len(passed) == 3 and all(name.startswith("socket:") for name in passed)


def _is_open(port: int) -> bool:
    """Return True if *port* listens; no connection is made, as the first one starts the program."""
    return f":{port:04X} 00000000:0000 0A" in Path("/proc/net/tcp").read_text()


def _answer(port: int) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as wire:
        wire.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        return everything(wire)
