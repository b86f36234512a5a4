"""mod_fcgid and mod_fastcgi with real processes: answers, limits, ends.

Answers, variables and log lines are those of mod_fcgid 2.3.9 under apache2 2.4.71.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest
from tests.server.conftest import ServerProcess, within

PYTHON = Path("/usr/bin/python3")
APPLICATION = Path(__file__).parents[1] / "support/fastcgi_application.py"
pytestmark = pytest.mark.skipif(
    not PYTHON.exists(), reason="no /usr/bin/python3 that the server's user may run"
)
FCGID = """
LoadModule fcgid_module m/mod_fcgid.so
LogLevel info
AddHandler fcgid-script .fcgi
<Directory {root}/htdocs>
    Options +ExecCGI
</Directory>
"""
FASTCGI = """
LoadModule fastcgi_module m/mod_fastcgi.so
AddHandler fastcgi-script .fcgi
<Directory {root}/htdocs>
    Options +ExecCGI
</Directory>
"""


def start(server: ServerProcess, configuration: str) -> None:
    """Start *server* with the application as a.fcgi and b.fcgi."""
    for name in ("a.fcgi", "b.fcgi"):
        shutil.copy(APPLICATION, server.root / "htdocs" / name)
        (server.root / "htdocs" / name).chmod(0o755)
    (server.root / "htdocs/other.txt").write_text("other\n")
    (server.root / "conf/extra.conf").write_text(configuration.format(root=server.root))
    server.start()


def applications(server: ServerProcess) -> list[int]:
    """Return the processes of the application that run for *server*."""
    out = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes()
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if os.fsencode(str(server.root / "htdocs")) in command and state != "Z":
                out.append(int(entry.name))
    return sorted(out)


def pid_of(reply: bytes) -> int:
    """Return the process that answered."""
    found = re.search(rb"X-Pid: (\d+)", reply)
    assert found is not None, reply
    return int(found[1])


def test_a_process_serves_one_request_after_another(server: ServerProcess) -> None:
    start(server, FCGID + "FcgidInitialEnv FOO bar\nFcgidPassHeader X-Pass\n")
    first, second = server.get("/a.fcgi"), server.get("/a.fcgi")
    assert pid_of(first) == pid_of(second)
    assert b"count 1" in first and b"count 2" in second
    head = b"GET /a.fcgi/x?env HTTP/1.1\r\nHost: localhost\r\nX-Pass: y\r\nTE: z\r\nConnection: close\r\n\r\n"
    variables = server.ask(head)
    for line in (b"PATH_INFO=/x\n", b"HTTP_CONNECTION=close\n", b"CONTENT_LENGTH=0\n", b"X_Pass=y\n"):
        assert line in variables
    assert b"HTTP_TE" not in variables
    assert b"FOO=bar\n" in server.get("/a.fcgi?penv")
    assert b"\r\n\r\nother\n" in server.get("/a.fcgi?loc")
    assert server.get("/a.fcgi?404").startswith(b"HTTP/1.1 404 Not Here\r\n")


def test_a_body_beyond_the_limit_is_refused(server: ServerProcess) -> None:
    """mod_fcgid 2.3.9: 500."""
    start(server, FCGID + "FcgidMaxRequestLen 10\n")
    head = b"POST /a.fcgi HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
    assert b"body 10\n" in server.ask(head % 10 + b"x" * 10)
    assert server.ask(head % 11 + b"x" * 11).startswith(b"HTTP/1.1 500 ")
    text = "mod_fcgid: HTTP request length 11 (so far) exceeds MaxRequestLen (10)"
    assert within(lambda: text in server.errors())


def test_processes_that_end_are_logged_and_replaced(server: ServerProcess) -> None:
    start(server, FCGID + "FcgidErrorScanInterval 1\n")
    assert server.get("/a.fcgi?exit").startswith(b"HTTP/1.1 500 ")
    assert server.get("/a.fcgi?kill").startswith(b"HTTP/1.1 500 ")
    assert server.get("/a.fcgi").startswith(b"HTTP/1.1 200 ")
    assert within(lambda: "unexpected signal 11" in server.errors())
    log = server.errors()
    assert "mod_fcgid: error reading data, FastCGI server closed connection" in log
    assert "End of script output before headers: a.fcgi" in log
    assert re.search(r"exit\(communication error\), terminated by calling exit\(\), return code: 3", log)
    assert re.search(r"exit\(communication error\), get unexpected signal 11", log)


def test_a_slow_process_is_given_up(server: ServerProcess) -> None:
    start(server, FCGID + "FcgidIOTimeout 1\nFcgidErrorScanInterval 1\n")
    first = pid_of(server.get("/a.fcgi"))
    assert server.get("/a.fcgi?sleep=100").startswith(b"HTTP/1.1 500 ")
    assert within(lambda: "mod_fcgid: read data timeout in 1 seconds" in server.errors())
    assert within(lambda: first not in applications(server))


def test_busy_processes_stay_within_the_limit_of_their_class(server: ServerProcess) -> None:
    start(server, FCGID + "FcgidMaxProcessesPerClass 2\n")
    replies: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: replies.append(server.get("/a.fcgi?sleep=0.3"))) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [reply[:12] for reply in replies] == [b"HTTP/1.1 200"] * 6
    assert 1 <= len({pid_of(reply) for reply in replies}) <= 2
    assert len(applications(server)) <= 2


def test_a_busy_process_beyond_its_time_is_ended(server: ServerProcess) -> None:
    start(server, FCGID + "FcgidBusyTimeout 1\nFcgidBusyScanInterval 1\nFcgidErrorScanInterval 1\n")
    assert server.get("/a.fcgi?sleep=100").startswith(b"HTTP/1.1 500 ")
    assert within(lambda: not applications(server))
    assert within(lambda: "exit(busy timeout), get stop signal 15" in server.errors())


def test_idle_processes_are_stopped(server: ServerProcess) -> None:
    limits = "FcgidIdleTimeout 1\nFcgidIdleScanInterval 1\nFcgidErrorScanInterval 1\n"
    start(server, FCGID + limits + "FcgidMinProcessesPerClass 0\n")
    server.get("/a.fcgi")
    assert len(applications(server)) == 1
    assert within(lambda: not applications(server))
    assert within(lambda: "exit(idle timeout), get stop signal 15" in server.errors())


def test_processes_of_many_requests_are_replaced(server: ServerProcess) -> None:
    start(server, FCGID + "FcgidMaxRequestsPerProcess 2\nFcgidErrorScanInterval 1\n")
    assert len({pid_of(server.get("/a.fcgi")) for _ in range(4)}) == 2


def test_programs_decide_about_access(server: ServerProcess) -> None:
    deciding = "<Files other.txt>\nFcgidAccessChecker {root}/htdocs/b.fcgi\n</Files>\n"
    start(server, FCGID + deciding)
    assert b"other" in server.get("/other.txt")
    head = b"GET /other.txt HTTP/1.1\r\nHost: a\r\nX-Deny: ACCESS_CHECKER\r\nConnection: close\r\n\r\n"
    assert server.ask(head).startswith(b"HTTP/1.1 401 ")
    text = "mod_fcgid: Access check to access /other.txt failed, reason: script returned status 403"
    assert within(lambda: text in server.errors())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGWINCH])
def test_no_process_is_left(server: ServerProcess, number: int) -> None:
    """The end of the master, however it comes, ends the processes."""
    start(server, FCGID)
    server.get("/a.fcgi")
    server.get("/b.fcgi")
    assert len(applications(server)) == 2
    server.signal(number)
    assert within(lambda: not applications(server))
    assert within(lambda: not keepers_directories(server))


def keepers_directories(server: ServerProcess) -> list[Path]:
    """Return the private directories of keepers below the server root."""
    return list((server.root / "sock").glob("whimbrel-fastcgi-*")) if (server.root / "sock").exists() else []


def test_a_killed_process_manager_is_replaced(server: ServerProcess) -> None:
    start(server, FCGID)
    first = pid_of(server.get("/a.fcgi"))
    parent = int(Path(f"/proc/{first}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(parent, signal.SIGKILL)
    assert within(lambda: first not in applications(server))
    assert within(lambda: "has ended, replacing it" in server.errors())
    assert server.get("/a.fcgi").startswith(b"HTTP/1.1 200 ")


def test_a_graceful_restart_lets_requests_end(server: ServerProcess) -> None:
    start(server, FCGID)
    replies: list[bytes] = []
    old = pid_of(server.get("/a.fcgi"))
    thread = threading.Thread(target=lambda: replies.append(server.get("/a.fcgi?sleep=2")))
    thread.start()
    assert within(lambda: len(applications(server)) == 1)
    time.sleep(0.3)  # the request is in its process
    server.signal(signal.SIGUSR1)
    thread.join()
    assert replies[0].startswith(b"HTTP/1.1 200 ")
    assert within(lambda: pid_of(server.get("/a.fcgi")) != old)
    assert within(lambda: old not in applications(server))


def test_fastcgi_servers_run_from_the_start(server: ServerProcess) -> None:
    options = "-processes 2 -initial-env A=b -idle-timeout 1 -restart-delay 0 -pass-header Authorization"
    start(server, FASTCGI + f"FastCgiServer {{root}}/htdocs/a.fcgi {options}\n")
    assert within(lambda: len(applications(server)) == 2)
    assert b"A=b\n" in server.get("/a.fcgi?penv")
    head = b"GET /a.fcgi?env HTTP/1.1\r\nHost: a\r\nAuthorization: Basic eDp5\r\nConnection: close\r\n\r\n"
    assert b"HTTP_AUTHORIZATION=Basic eDp5\n" in server.ask(head)
    assert server.get("/a.fcgi?kill").startswith(b"HTTP/1.1 500 ")
    assert within(lambda: len(applications(server)) == 2)
    assert server.get("/a.fcgi?sleep=3").startswith(b"HTTP/1.1 500 ")
    text = f'FastCGI: comm with server "{server.root}/htdocs/a.fcgi" aborted: idle timeout (1 sec)'
    assert within(lambda: text in server.errors())
    assert b"count" in server.get("/b.fcgi")  # dynamic
    server.stop()
    assert within(lambda: not applications(server))
