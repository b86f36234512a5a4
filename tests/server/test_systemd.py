"""A server under a service manager: its notifications, and the sockets that it receives."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys

from tests.server.conftest import ServerProcess

LOAD = "LoadModule systemd_module m/mod_systemd.so\n"


def test_a_life_as_the_manager_hears_it(server: ServerProcess) -> None:
    path = str(server.root / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as wire:
        wire.bind(path)
        wire.settimeout(10)
        server.environment["NOTIFY_SOCKET"] = path
        (server.root / "conf/extra.conf").write_text(LOAD)
        server.start()
        assert server.process is not None
        heard = [wire.recv(4096).decode()]
        server.signal(signal.SIGUSR1)
        heard += [wire.recv(4096).decode() for _ in range(2)]
        server.signal(signal.SIGTERM)
        heard.append(wire.recv(4096).decode())
        assert server.process.wait(30) == 0
    assert [text.split("\n")[0] for text in heard] == ["READY=1", "RELOADING=1", "READY=1", "STOPPING=1"]
    assert f"MAINPID={server.process.pid}" in heard[0].split("\n")


def test_a_socket_that_the_manager_opened(server: ServerProcess) -> None:
    """The program gets descriptor 3 already listening, as in sd_listen_fds(3); its own bind(2) would fail."""
    (server.root / "conf/extra.conf").write_text(LOAD)
    with socket.socket() as given:
        given.bind(("127.0.0.1", server.port))
        given.listen()
        starter = (
            "import os, sys\n"
            f"os.dup2({given.fileno()}, 3)\nos.set_inheritable(3, True)\n"
            "os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()))\n"
            "os.execv(sys.argv[1], sys.argv[1:])\n"
        )
        server.process = subprocess.Popen(
            [sys.executable, "-c", starter, *server.command("-DFOREGROUND")],
            cwd=server.root,
            pass_fds=[given.fileno()],
            stderr=subprocess.DEVNULL,
        )
        server.wait_for(lambda: (server.root / "logs/httpd.pid").exists() or server.ended())
    assert server.get().endswith(b"hello\n")
    assert not os.path.exists(server.root / "notify")
