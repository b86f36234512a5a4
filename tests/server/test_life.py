"""Process life: start, signals, restarts, crashes, -k. Messages and exit codes are recorded from 2.4.71."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import threading
import time
from pathlib import Path

import pytest
from tests.server.conftest import ServerProcess

import whimbrel
from whimbrel.base.product import VERSION


def test_term_ends_everything(server: ServerProcess) -> None:
    server.start()
    workers = server.workers()
    assert server.get().endswith(b"hello\n")
    server.signal(signal.SIGTERM)
    assert server.process is not None
    assert server.process.wait(30) == 0
    assert not (server.root / "logs/httpd.pid").exists()
    log = server.errors()
    assert "[mpm_event:notice]" in log
    assert f"AH00489: Whimbrel/{VERSION} (Unix) configured -- resuming normal operations" in log
    assert "AH00491: caught SIGTERM, shutting down" in log
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)


def test_notices_about_the_configuration_are_in_the_log_too(server: ServerProcess) -> None:
    """At any LogLevel: httpd repeats them when it reads the file for the second time."""
    (server.root / "conf/extra.conf").write_text("ErrorDocument 401 http://x.test/\n")
    server.start()
    assert "AH00113: " in (server.root / "stderr").read_text()
    assert (
        "cannot use a full URL in a 401 ErrorDocument directive --- ignoring!"
        in (server.root / "logs/error_log").read_text()
    )


def test_a_worker_that_dies_is_replaced_and_logged(server: ServerProcess) -> None:
    server.start()
    victim = server.workers()[0]
    time.sleep(1.1)
    os.kill(victim, signal.SIGKILL)
    server.wait_for(lambda: victim not in server.workers() and server.workers())
    assert server.get().endswith(b"hello\n")
    assert f"AH00052: child pid {victim} exit signal Killed (9)" in server.errors()


def test_orphaned_workers_end(server: ServerProcess) -> None:
    server.start()
    workers = server.workers()
    assert workers
    server.signal(signal.SIGKILL)
    server.wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))
    assert server.ended()


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGHUP])
def test_a_restart_reads_the_configuration_and_opens_the_logs_again(
    server: ServerProcess, number: int
) -> None:
    server.start()
    server.get()
    (server.root / "logs/access_log").rename(server.root / "logs/old")
    (server.root / "conf/extra.conf").write_text("Redirect /q http://x.example/\n")
    server.signal(number)
    server.wait_for(
        lambda: (
            (server.root / "logs/access_log").exists()
            and server.errors().count("resuming normal operations") == 2
        )
    )
    # workers of the old generation may still accept a connection
    server.wait_for(lambda: server.get("/q").startswith(b"HTTP/1.1 302 "))
    server.wait_for(lambda: "302" in (server.root / "logs/access_log").read_text())
    assert (server.root / "logs/old").read_text().startswith("127.0.0.1 GET / HTTP/1.1 200 6\n")


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGHUP])
def test_a_broken_configuration_at_a_restart_ends_the_parent(server: ServerProcess, number: int) -> None:
    server.start()
    (server.root / "conf/extra.conf").write_text("Bogus Directive\n")
    server.signal(number)
    assert server.process is not None
    assert server.process.wait(30) == 1
    log = (server.root / "logs/error_log").read_text()
    assert (
        f"AH00526: Syntax error on line 1 of {server.root}/conf/extra.conf:\nInvalid command 'Bogus'" in log
    )
    assert "Traceback" not in server.errors()


def test_graceful_restarts_lose_no_request(server: ServerProcess) -> None:
    (server.root / "conf/extra.conf").write_text("MaxKeepAliveRequests 50\n")
    server.start()
    answers: list[bytes] = []
    stop = threading.Event()

    def client() -> None:
        wire = None
        while not stop.is_set():
            wire = wire or server.connect()
            wire.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            got = b""
            while not got.endswith(b"hello\n"):
                data = wire.recv(65536)
                if not data:
                    break
                got += data
            answers.append(got)
            if b"Connection: close" in got or not got:
                wire.close()
                wire = None

    threads = [threading.Thread(target=client) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(4):
        time.sleep(0.3)
        server.signal(signal.SIGUSR1)
    server.wait_for(lambda: len(answers) > 100)
    stop.set()
    for thread in threads:
        thread.join(10)
    assert [a for a in answers if not (a.startswith(b"HTTP/1.1 200 OK") and a.endswith(b"hello\n"))] == []
    server.stop()
    assert (server.root / "logs/access_log").read_text().count(" 200 6\n") == len(answers)


def is_refused(port: int) -> bool:
    """Return True if nothing listens at *port*."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=2).close()
    except ConnectionRefusedError:
        return True
    return False


def test_winch_lets_an_answer_finish(server: ServerProcess) -> None:
    server.start()
    with server.connect() as wire:
        wire.sendall(b"GET /big.bin HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        got = wire.recv(1000)
        server.signal(signal.SIGWINCH)
        server.wait_for(lambda: is_refused(server.port))
        while data := wire.recv(1 << 20):
            got += data
    assert got.endswith(bytes(range(256)) * 40_000)
    assert server.process is not None
    assert server.process.wait(30) == 0
    assert "AH00492: caught SIGWINCH, shutting down gracefully" in server.errors()


def test_a_worker_that_served_its_connections_is_replaced(server: ServerProcess) -> None:
    (server.root / "conf/extra.conf").write_text("MaxConnectionsPerChild 2\nStartServers 1\n")
    server.start()
    first = server.workers()
    for _ in range(5):
        assert server.get().endswith(b"hello\n")
    server.wait_for(lambda: not set(first) & set(server.workers()))
    assert "exit signal" not in server.errors()


def test_k_start_and_k_stop(server: ServerProcess) -> None:
    assert (server.run("-k", "stop").stdout, server.run("-k", "stop").returncode) == (
        "httpd (no pid file) not running\n",
        0,
    )
    done = server.run("-k", "start")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    number = int((server.root / "logs/httpd.pid").read_text())
    try:
        assert server.get().endswith(b"hello\n")
        assert server.run("-k", "start").stdout == f"httpd (pid {number}) already running\n"
    finally:
        done = server.run("-k", "stop")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    server.wait_for(lambda: not Path(f"/proc/{number}").exists())


def test_a_port_in_use(server: ServerProcess) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", server.port))
        taken.listen()
        done = server.run("-DFOREGROUND")
    assert done.returncode == 1
    assert done.stderr == (
        f"(98)Address already in use: AH00072: make_sock: could not bind to address 127.0.0.1:{server.port}\n"
        "no listening sockets available, shutting down\nAH00015: Unable to open logs\n"
    )


def test_a_module_that_cannot_start_writes_to_the_log_only(server: ServerProcess) -> None:
    """It precedes the check of User."""
    path = server.root / "conf/httpd.conf"
    path.write_text(
        "".join(line for line in path.read_text().splitlines(True) if not line.startswith(("User", "Group")))
    )
    (server.root / "conf/mime.types").unlink()
    done = server.run("-DFOREGROUND")
    assert (done.returncode, done.stderr) == (1, "")
    log = (server.root / "logs/error_log").read_text()
    assert "[mime:error]" in log
    assert "AH01597: could not open mime types config file" in log
    assert log.endswith("\nAH00016: Configuration Failed\n")


def test_a_stale_pid_file_is_overwritten_with_a_warning(server: ServerProcess) -> None:
    (server.root / "logs/httpd.pid").write_text("999999\n")
    server.start()
    server.wait_for(lambda: "resuming" in server.errors())
    text = (
        f"AH00098: pid file {server.root}/logs/httpd.pid overwritten -- Unclean shutdown of previous Apache "
        "run?"
    )
    assert text in server.errors()


def test_a_pid_file_that_cannot_be_written(server: ServerProcess) -> None:
    (server.root / "conf/extra.conf").write_text("PidFile nodir/pid\n")
    server.start()
    assert server.process is not None
    assert server.process.wait(30) == 1
    assert (
        f"(2)No such file or directory: AH00099: could not create {server.root}/nodir/pid." in server.errors()
    )
    assert "AH00095" not in server.errors()


def test_x_is_one_process(server: ServerProcess) -> None:
    server.start("-X")
    assert server.workers() == []
    assert server.get().endswith(b"hello\n")
    server.signal(signal.SIGTERM)
    assert server.process is not None
    assert server.process.wait(30) == 0
    assert "AH00491" not in server.errors()  # as with apache2 -X, which leaves its PidFile too


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_workers_need_nothing_of_a_package_that_they_cannot_read(server: ServerProcess) -> None:
    """With the package in a directory that only root can read, www-data serves all kinds of responses."""
    hidden = server.root / "hidden"
    shutil.copytree(
        Path(whimbrel.__file__).parent, hidden / "whimbrel", ignore=shutil.ignore_patterns("__pycache__")
    )
    hidden.chmod(0o700)
    server.environment["PYTHONPATH"] = str(hidden)
    server.environment["PYTHONDONTWRITEBYTECODE"] = "1"
    server.start()
    assert server.get().endswith(b"hello\n")
    assert b" 404 " in server.get("/none")[:20]
    host = b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    assert server.ask(b"GET /big.bin" + host + b"Range: bytes=1-3,9-12\r\n\r\n")[9:12] == b"206"
    assert server.ask(b"GARBAGE\r\n\r\n")[9:12] == b"400"
    assert (
        server.ask(b"POST /" + host + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n")[9:12]
        == b"200"
    )
    assert "Traceback" not in server.errors()
    status = Path(f"/proc/{server.workers()[0]}/status").read_text()
    assert "\nUid:\t0" not in status


def test_the_end_of_the_pid_file_is_logged(server: ServerProcess) -> None:
    """Order and texts of apache2 2.4.71; a restart writes a removed file again."""
    (server.root / "conf/extra.conf").write_text("LogLevel info\n")
    server.start()
    assert server.process is not None
    path = server.root / "logs/httpd.pid"
    path.unlink()
    server.signal(signal.SIGUSR1)
    server.wait_for(path.exists)
    server.signal(signal.SIGTERM)
    assert server.process.wait(30) == 0
    lines = [line.split("] ", 3)[-1] for line in server.errors().splitlines() if "AH0009" in line[60:]]
    assert lines[-1] == f"AH00096: removed PID file {path} (pid={server.process.pid})"


def test_a_pid_file_that_is_gone_is_an_error(server: ServerProcess) -> None:
    server.start()
    (server.root / "logs/httpd.pid").unlink()
    server.signal(signal.SIGTERM)
    assert server.process is not None
    assert server.process.wait(30) == 0
    line = f"(2)No such file or directory: AH00095: failed to remove PID file {server.root}/logs/httpd.pid\n"
    log = server.errors()
    assert log.index(line) < log.index("AH00491: caught SIGTERM")


def test_usr2_is_ignored_by_master_and_workers(server: ServerProcess) -> None:
    """apache2's parent dies of it, and its children serve on without one."""
    server.start()
    server.wait_for(server.workers)
    workers = server.workers()
    for number in (server.process.pid, *workers):  # type: ignore[union-attr]
        os.kill(number, signal.SIGUSR2)
    time.sleep(0.3)
    assert server.get().endswith(b"hello\n")
    assert server.workers() == workers
    assert "SIGUSR2" not in server.errors()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGWINCH, signal.SIGINT])
def test_an_idle_server_stops_at_once(server: ServerProcess, number: signal.Signals) -> None:
    """apache2 with mpm_event needs 0.03 seconds for TERM; idle keep-alive connections do not delay it."""
    (server.root / "conf/extra.conf").write_text("StartServers 3\nKeepAliveTimeout 30\n")
    server.start()
    wires = [server.connect() for _ in range(4)]
    for wire in wires:
        wire.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b" 200 " in wire.recv(4096)
    begun = time.monotonic()
    server.signal(number)
    assert server.process is not None
    assert server.process.wait(30) == 0
    assert time.monotonic() - begun < 10  # 0.07 on a machine with free processors, 30 with the idle ones
    for wire in wires:
        wire.close()


# memory -------------------------------------------------------------------------------------------
EXHAUSTED = """
from whimbrel.engine.engine import Engine
respond = Engine.respond
def exhausted(self, connection, head, body):
    if head.uri.startswith("/exhaust"):
        raise MemoryError
    return respond(self, connection, head, body)
Engine.respond = exhausted
"""


def test_a_worker_without_memory_is_replaced(server: ServerProcess) -> None:
    server.changes += EXHAUSTED
    server.start()
    before = set(server.workers())
    assert server.get("/exhaust").startswith(b"HTTP/1.1 500 ")
    server.wait_for(lambda: len(set(server.workers()) - before) == 1)
    assert server.get().endswith(b"hello\n")
    server.wait_for(lambda: len(server.workers()) == len(before))
    assert "[core:error]" in (server.root / "logs/error_log").read_text()
    assert (
        "(12)Cannot allocate memory: failed in exhausted, line 6 of "
        in (server.root / "logs/error_log").read_text()
    )
    assert "Traceback" not in (server.root / "logs/error_log").read_text()


LOOP_ERROR = """
from whimbrel.server.worker.worker import Worker
refresh = Worker.refresh
def refresh_and_fail(self):
    refresh(self)
    if self.reason == 0:
        self.loop.call_soon(lambda: 1 / 0)
        self.loop.call_exception_handler({"message": "a task is lost"})
Worker.refresh = refresh_and_fail
"""


def test_errors_of_the_loop_are_lines_of_the_log(server: ServerProcess) -> None:
    server.changes += LOOP_ERROR
    server.start()
    assert server.get().endswith(b"hello\n")
    log = server.root / "logs/error_log"
    server.wait_for(lambda: "ZeroDivisionError" in log.read_text() and "a task is lost" in log.read_text())
    lines = log.read_text().splitlines()
    assert [line for line in lines if not re.match(r"\[.+\] \[\w+:\w+\] \[pid \d+:tid \d+\] ", line)] == []
