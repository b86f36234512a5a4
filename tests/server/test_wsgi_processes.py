"""Processes of mod_wsgi that are killed, hang, leak, are replaced, and end with the server.

The log lines are those of mod_wsgi 4.9.4 under apache2 2.4.71.
"""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from pathlib import Path

import pytest
from tests.server.conftest import ServerProcess, within

PYTHON = Path("/usr/bin/python3")
pytestmark = pytest.mark.skipif(
    not PYTHON.exists(), reason="no /usr/bin/python3 that the server's user may run"
)
APPLICATION = """
import os, sys, threading, time
BLOCKS = []
HELD = threading.Lock()
def application(environ, start_response):
    query = environ["QUERY_STRING"]
    name, _, value = query.partition("=")
    if name == "sleep":
        environ["wsgi.errors"].write("asleep\\n")
        environ["wsgi.errors"].flush()
        time.sleep(float(value))
    elif name == "kill":
        os.kill(os.getpid(), int(value))
    elif name == "exit":
        os._exit(int(value))
    elif name == "hold":
        import ctypes
        ctypes.PyDLL(None).sleep(int(value))
    elif name == "leak":
        BLOCKS.append(bytearray(int(value)))
    elif name == "read":
        query = str(len(environ["wsgi.input"].read()))
    elif name == "translated":
        query = environ["PATH_TRANSLATED"]
    elif name == "write":
        write = start_response("200 OK", [])
        for number in range(1000):
            write(b"x" * 65536)
    data = ("%s pid %d\\n" % (query, os.getpid())).encode()
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(data)))])
    if name == "half":
        def halves():
            yield data[:3]
            os.kill(os.getpid(), 9)
        return halves()
    return [data]
"""
CONF = """
LoadModule wsgi_module m/mod_wsgi.so
LogLevel info
WSGIPythonHome /usr
WSGIDaemonProcess site {options}
WSGIScriptAlias /app {{root}}/htdocs/app.wsgi process-group=site application-group=%{{{{GLOBAL}}}}
WSGIScriptAlias /group {{root}}/htdocs/app.wsgi process-group=site application-group=second
WSGIScriptAlias /embedded {{root}}/htdocs/app.wsgi
"""


def start(server: ServerProcess, options: str = "threads=2", more: str = "") -> None:
    """Start *server* with the application at /app."""
    (server.root / "htdocs/app.wsgi").write_text(APPLICATION)
    (server.root / "conf/extra.conf").write_text(CONF.format(options=options).format(root=server.root) + more)
    server.start()


def started(server: ServerProcess) -> list[int]:
    """Return the processes that were started, by the log."""
    return [int(each) for each in re.findall(r"\(pid=(\d+)\): Starting process", server.errors())]


def is_alive(pid: int) -> bool:
    """Return True if the process runs."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def pid_of(reply: bytes) -> int:
    """Return the process that answered."""
    found = re.search(rb" pid (\d+)", reply)
    assert found is not None, reply
    return int(found[1])


def test_processes_exist_before_the_first_request_and_not_after_the_end(server: ServerProcess) -> None:
    start(server, "processes=2 threads=1")
    assert within(lambda: len(started(server)) == 4)  # two groups are named
    assert pid_of(server.get("/app")) in started(server)
    assert pid_of(server.get("/group")) in started(server)
    assert pid_of(server.get("/embedded")) in started(server)
    pids = started(server)
    assert len(pids) >= 5
    server.stop()
    assert within(lambda: not any(map(is_alive, pids)))


def test_application_groups_have_processes_of_their_own(server: ServerProcess) -> None:
    start(server)
    assert pid_of(server.get("/app")) != pid_of(server.get("/group"))
    assert pid_of(server.get("/app")) == pid_of(server.get("/app"))


def test_a_killed_process_is_replaced(server: ServerProcess) -> None:
    start(server)
    first = pid_of(server.get("/app"))
    assert server.get("/app?kill=9").startswith(b"HTTP/1.1 500 ")
    assert pid_of(server.get("/app")) != first
    assert server.get("/app?exit=3").startswith(b"HTTP/1.1 500 ")
    assert server.get("/app").startswith(b"HTTP/1.1 200 ")
    log = server.errors()
    assert f"mod_wsgi (pid={first}): Process 'site' has died, deregister and restart it." in log
    assert f"mod_wsgi (pid={first}): Process 'site' terminated by signal 9" in log
    assert "Process 'site' terminated normally, exit code 3" in log
    assert "Truncated or oversized response headers received from daemon process 'site': " in log


def test_a_response_of_a_killed_process_is_cut(server: ServerProcess) -> None:
    start(server)
    reply = server.get("/app?half")
    assert reply.startswith(b"HTTP/1.1 200 ") and reply.endswith(b"\r\n\r\nhal")
    assert "Failed to proxy response from daemon." in server.errors()
    assert server.get("/app").startswith(b"HTTP/1.1 200 ")


def test_a_request_beyond_its_time_ends_the_process(server: ServerProcess) -> None:
    start(server, "threads=1 request-timeout=1 shutdown-timeout=1")
    first = pid_of(server.get("/app"))
    assert server.get("/app?sleep=30").startswith(b"HTTP/1.1 500 ")
    assert pid_of(server.get("/app")) != first
    log = server.errors()
    start_of_line = f"mod_wsgi (pid={first}): "
    assert f"{start_of_line}Daemon process request time limit exceeded, stopping process 'site'." in log
    assert f"{start_of_line}Dumping stack trace for active Python threads." in log
    assert re.search(r"Thread \d+ executing file \"[^\"]*app.wsgi\", line 11, in application", log)
    assert f"{start_of_line}Aborting process 'site'." in log


def test_a_process_that_holds_the_interpreter_is_ended(server: ServerProcess) -> None:
    start(server, "threads=1 deadlock-timeout=2")
    first = pid_of(server.get("/app"))
    assert server.get("/app?hold=40").startswith(b"HTTP/1.1 500 ")
    text = f"mod_wsgi (pid={first}): Daemon process deadlock timer expired, stopping process 'site'."
    assert text in server.errors()
    assert pid_of(server.get("/app")) != first


def test_a_leak_is_limited(server: ServerProcess) -> None:
    start(server, "threads=1 memory-limit=300000000")
    for _ in range(8):
        reply = server.get("/app?leak=100000000")
        if reply.startswith(b"HTTP/1.1 500 "):
            break
    else:
        pytest.fail("no limit")
    assert "MemoryError" in server.errors()
    assert server.get("/app").startswith(b"HTTP/1.1 200 ")


def test_a_process_ends_after_its_number_of_requests(server: ServerProcess) -> None:
    start(server, "threads=1 maximum-requests=3")
    pids = [pid_of(server.get("/app")) for _ in range(9)]
    assert [pids.count(each) for each in dict.fromkeys(pids)] == [3, 3, 3]
    text = f"mod_wsgi (pid={pids[0]}): Maximum requests reached, triggering immediate shutdown 'site'."
    assert text in server.errors()


def test_an_idle_process_ends(server: ServerProcess) -> None:
    start(server, "threads=1 inactivity-timeout=1")
    first = pid_of(server.get("/app"))
    text = f"mod_wsgi (pid={first}): Daemon process idle inactivity timer expired, stopping process 'site'."
    assert within(lambda: text in server.errors())
    assert within(lambda: not is_alive(first))
    assert server.get("/app").startswith(b"HTTP/1.1 200 ")


def test_waiting_requests_time_out(server: ServerProcess) -> None:
    start(server, "threads=1 queue-timeout=1")
    server.get("/app")
    slow = threading.Thread(target=server.get, args=("/app?sleep=4",))
    slow.start()
    assert within(lambda: "asleep" in server.errors())
    assert server.get("/app").startswith(b"HTTP/1.1 504 ")
    slow.join()
    assert "Queue timeout expired for WSGI daemon process 'site'." in server.errors()


def test_a_silent_process_times_out(server: ServerProcess) -> None:
    start(server, "threads=2 socket-timeout=1")
    assert server.get("/app?sleep=3").startswith(b"HTTP/1.1 504 ")
    text = "Timeout when reading response headers from daemon process 'site': "
    assert text in server.errors()
    assert server.get("/app").startswith(b"HTTP/1.1 200 ")


class Load:
    """Clients that request pages until they are told to stop; their replies are counted by status."""

    def __init__(self, server: ServerProcess, count: int = 3) -> None:
        self.server = server
        self.replies: list[bytes] = []
        self._is_over = False
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(count)]

    def _run(self, number: int) -> None:
        body = b"x" * 70000
        head = b"POST /app?read HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 70000\r\n\r\n"
        while not self._is_over:
            if number == 0:
                self.replies.append(self.server.ask(head + body))
            else:
                self.replies.append(self.server.get("/app?sleep=0.01"))

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over = True
        for thread in self._threads:
            thread.join()

    def count(self) -> int:
        """Return the number of replies."""
        return len(self.replies)


def test_no_request_is_lost_when_a_script_changes(server: ServerProcess) -> None:
    start(server, "processes=2 threads=2")
    script = server.root / "htdocs/app.wsgi"
    with Load(server) as load:
        for _ in range(3):
            before = load.count()
            assert within(lambda: load.count() > before + 20, 100)  # noqa: B023
            changed = script.with_suffix(".new")  # a process must not load a part of the script
            changed.write_text(APPLICATION + "\n")
            os.utime(changed, ns=(time.time_ns(), time.time_ns()))
            changed.replace(script)
    assert {reply[:12] for reply in load.replies} == {b"HTTP/1.1 200"}
    assert len({pid_of(reply) for reply in load.replies}) >= 3
    log = server.errors()
    assert "Force restart of process 'site'." in log
    assert "Connect after WSGI daemon process restart, attempt #1." in log


def test_no_request_is_lost_by_limits_and_graceful_restarts(server: ServerProcess) -> None:
    start(server, "processes=2 threads=2 maximum-requests=10")
    with Load(server) as load:
        before = load.count()
        assert within(lambda: load.count() > before + 30, 100)
        server.signal(signal.SIGUSR1)
        assert within(lambda: "SIGUSR1 received.  Doing graceful restart" in server.errors())
        before = load.count()
        assert within(lambda: load.count() > before + 60, 100)
    assert {reply[:12] for reply in load.replies} == {b"HTTP/1.1 200"}
    assert within(lambda: sum(map(is_alive, started(server))) <= 4)
    pids = started(server)
    server.stop()
    assert within(lambda: not any(map(is_alive, pids)))


def test_what_fails_after_the_client_has_gone_is_logged(server: ServerProcess) -> None:
    start(server)
    with server.connect() as wire:
        wire.sendall(b"GET /app?write HTTP/1.1\r\nHost: a\r\n\r\n")
        assert wire.recv(1000).startswith(b"HTTP/1.1 200 OK\r\n")
    assert within(lambda: "OSError: Apache/mod_wsgi failed to write response data: " in server.errors())
    with server.connect() as wire:
        wire.sendall(b"POST /app?read HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc")
    text = "OSError: Apache/mod_wsgi request data read error: Partial results are valid but processing is"
    assert within(lambda: f"{text} incomplete.\n" in server.errors())
    assert server.get("/app").startswith(b"HTTP/1.1 200 ")


def test_what_path_info_stands_for_is_looked_up_anew_when_files_change(server: ServerProcess) -> None:
    directory = server.root / "htdocs/dir"
    directory.mkdir()
    more = (
        "LoadModule rewrite_module m/mod_rewrite.so\n"
        f"<Directory {directory}>\n    Options +FollowSymLinks\n    AllowOverride All\n</Directory>\n"
    )
    start(server, more=more)
    rules = directory / ".htaccess"
    for target in ("one", "two"):
        rules.write_text(f"RewriteEngine On\nRewriteRule ^x$ /{target}\n")
        os.utime(rules, (1_600_000_000, 1_600_000_000))
        replies = [server.get(f"/app/dir/x?translated={n}") for n in range(5)]
        assert {f"/{target} pid".encode() in reply for reply in replies} == {True}, replies
    rules.unlink()
    assert f"{directory}/x pid".encode() in server.get("/app/dir/x?translated")


def test_a_killed_process_loses_only_the_requests_that_it_had(server: ServerProcess) -> None:
    start(server, "processes=2 threads=2")
    with Load(server) as load:
        for _ in range(5):
            before = load.count()
            assert within(lambda: load.count() > before + 20, 100)  # noqa: B023
            os.kill(next(pid for pid in reversed(started(server)) if is_alive(pid)), signal.SIGKILL)
    failed = [reply for reply in load.replies if not reply.startswith(b"HTTP/1.1 200 ")]
    assert {reply[:12] for reply in failed} <= {b"HTTP/1.1 500"}
    assert len(failed) <= 5 * 2  # two threads of each killed process
    assert load.count() > 100
