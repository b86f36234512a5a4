"""System limits: descriptors, disks, programs that do not read.

The server logs the problem where httpd does, and continues.
"""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from tests.server.conftest import Running


def seconds_of(pid: int) -> float:
    """Return the processor time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_worker_out_of_descriptors_does_not_spin_and_recovers(server: Running) -> None:
    (server.root / "conf/extra.conf").write_text(
        "StartServers 1\nServerLimit 1\nMaxRequestWorkers 25\nThreadsPerChild 25\n"
    )
    with (server.root / "stderr").open("wb") as sink:
        server.process = subprocess.Popen(
            server.command("-DFOREGROUND"),
            cwd=server.root,
            stderr=sink,
            env=server.environment,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)),
        )
    server.wait_for(lambda: (server.root / "logs/httpd.pid").exists() or server.ended())
    worker = server.workers()[0]
    crowd = [socket.create_connection(("127.0.0.1", server.port), timeout=30) for _ in range(120)]
    time.sleep(0.5)
    before = seconds_of(worker)
    time.sleep(1.5)
    assert seconds_of(worker) - before < 0.7
    for one in crowd:
        one.close()
    server.wait_for(lambda: worker in server.workers() and _answers(server))
    assert "(24)Too many open files" in server.errors()


def _answers(server: Running) -> bool:
    try:
        return server.get().endswith(b"hello\n")
    except OSError:
        return False


def test_a_full_disk_under_the_access_log_costs_no_answer(server: Running) -> None:
    (server.root / "conf/extra.conf").write_text("CustomLog /dev/full short\n")
    server.start()
    assert [server.get()[:15] for _ in range(30)] == [b"HTTP/1.1 200 OK"] * 30
    server.wait_for(lambda: (server.root / "logs/access_log").read_text().count(" 200 ") == 30)
    assert "Traceback" not in server.errors()


def test_a_full_disk_under_the_error_log_costs_no_answer(server: Running) -> None:
    text = (
        (server.root / "conf/httpd.conf").read_text().replace("ErrorLog logs/error_log", "ErrorLog /dev/full")
    )
    (server.root / "conf/httpd.conf").write_text(text)
    server.start()
    assert server.get("/none")[9:12] == b"404"
    assert server.get()[9:12] == b"200"


def test_a_program_that_does_not_read_stops_no_answer_and_loses_no_line(server: Running) -> None:
    """The lines wait while the program sleeps, and are complete when it reads again."""
    script = server.root / "slow.py"
    script.write_text(
        f"import os, signal, sys\nopen({str(server.root / 'logs/pid')!r}, 'w').write(str(os.getpid()))\n"
        f"signal.raise_signal(signal.SIGSTOP)\nout = open({str(server.root / 'logs/slow')!r}, 'wb', 0)\n"
        "while data := os.read(0, 65536):\n    out.write(data)\n"
    )
    long = "x" * 900
    (server.root / "conf/extra.conf").write_text(
        f'LogFormat "%r {long}" long\nCustomLog "|{sys.executable} {script}" long\nStartServers 1\n'
    )
    server.start()
    server.wait_for(lambda: (server.root / "logs/pid").exists() and (server.root / "logs/pid").read_text())
    with server.connect() as wire:
        for number in range(300):  # 270 kB: four times the capacity of a pipe
            wire.sendall(b"GET /?%d HTTP/1.1\r\nHost: localhost\r\n\r\n" % number)
            got = b""
            while not got.endswith(b"hello\n"):
                got += wire.recv(65536)
            assert got.startswith(b"HTTP/1.1 200 OK")
            if b"Connection: close" in got:
                wire.close()
                break
    count = number + 1
    os.kill(int((server.root / "logs/pid").read_text()), signal.SIGCONT)
    server.wait_for(
        lambda: (
            (server.root / "logs/slow").exists()
            and (server.root / "logs/slow").read_bytes().count(b"\n") >= count
        )
    )
    lines = (server.root / "logs/slow").read_text().splitlines()
    assert lines == [f"GET /?{n} HTTP/1.1 {long}" for n in range(count)]


def test_a_log_program_that_dies_is_started_again_and_loses_no_line(server: Running) -> None:
    """`|`, with httpd's message; the lines in between wait in the pipe."""
    script = server.root / "once.py"
    script.write_text(
        f"import os\nline = os.read(0, 4096)\nopen({str(server.root / 'logs/once')!r}, 'ab').write(line)\n"
    )
    (server.root / "conf/extra.conf").write_text(
        f'CustomLog "|{sys.executable} {script}" "%U"\nStartServers 1\n'
    )
    server.start()
    seen = server.root / "logs/once"
    for number in range(3):
        server.get(f"/{number}")
        server.wait_for(lambda n=number: seen.exists() and seen.read_text().count("\n") == n + 1)
    assert seen.read_text() == "/0\n/1\n/2\n"
    server.wait_for(
        lambda: (
            f"AH00106: piped log program '{sys.executable} {script}' failed unexpectedly" in server.errors()
        )
    )


def test_a_global_log_is_written_beside_a_hosts_own(server: Running) -> None:
    """GlobalLog (2.4.19): virtual hosts with their own CustomLog write to it, too."""
    (server.root / "conf/extra.conf").write_text(
        f'GlobalLog logs/all "%v %U"\n<VirtualHost 127.0.0.1:{server.port}>\nServerName '
        'own.example\nCustomLog logs/own "%U"\n</VirtualHost>\n'
    )
    server.start()
    server.get("/none")
    server.wait_for(lambda: (server.root / "logs/all").read_text() == "own.example /none\n")
    assert (server.root / "logs/own").read_text() == "/none\n"
