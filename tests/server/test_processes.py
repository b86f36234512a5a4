"""Effects of workers, log programs, signals and full disks on the master.

Messages and signals are those of apache2 2.4.71 where it has them.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import threading
import time
from pathlib import Path

import pytest
from tests.server.conftest import ServerProcess, children, everything
from tests.support.samples import some

ROOT = pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
QUICK_WATCH = """
from whimbrel.server.master import worker_pool
from whimbrel.server.worker import worker
worker_pool.STALL_TIMEOUT, worker_pool.WATCH_PERIOD, worker.BEAT_PERIOD = 1.5, 0.2, 0.2
"""
NOTED = """
from whimbrel.server.worker import worker
worker.BEAT_PERIOD = 0.2
refresh_slot = worker.Worker.refresh
def refresh_and_note(self):
    refresh_slot(self)
    with open("%s/refreshed", "a") as notes:
        notes.write("x")
worker.Worker.refresh = refresh_and_note
"""
BLOCKING = """
import time
from whimbrel.engine.engine import Engine
respond = Engine.respond
def slow(self, connection, head, body):
    if head.uri.startswith("/block"):
        time.sleep(60)
    return respond(self, connection, head, body)
Engine.respond = slow
"""


def log_of(server: ServerProcess) -> str:
    return (server.root / "logs/error_log").read_text()


def configure(server: ServerProcess, text: str) -> None:
    (server.root / "conf/extra.conf").write_text(text)


def without_programs(server: ServerProcess) -> set[int]:
    """Return the workers; other children of the master are log programs."""
    commands = {}
    for child in server.workers():
        with contextlib.suppress(OSError):  # it has ended
            commands[child] = Path(f"/proc/{child}/cmdline").read_bytes()
    return {child for child, command in commands.items() if b"python" in command}


def program(server: ServerProcess, name: str, text: str) -> Path:
    path = server.root / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def note_refreshes(server: ServerProcess) -> None:
    """Let workers refresh their slots five times a second, and note each time in a file."""
    notes = server.root / "refreshed"
    notes.touch()
    notes.chmod(0o666)
    server.changes += NOTED % server.root


def wait_for_refreshes(server: ServerProcess) -> None:
    """Wait until each worker of a server that notes them has refreshed its slot, probably twice."""
    notes = server.root / "refreshed"
    count = len(notes.read_text()) + 2 * len(server.workers())
    server.wait_for(lambda: len(notes.read_text()) > count)


# hostile workers ---------------------------------------------------------------------------------
HOSTILE = """
import os, struct
from whimbrel.server.worker.worker import Worker
refresh = Worker.refresh
def ruin(self):
    refresh(self)
    if self.control >= 0:
        memory = self.generation.board._memory
        data = %s
        struct.pack_into("=QQ", memory, self.slot * 16, 2, len(data))
        at = 129 * 16 + self.slot * 32768
        memory[at:at + min(len(data), 32768)] = data[:32768]
        os.write(self.control, b"busy \\xb2\\nretire " + b"9" * 5000 + b"\\n" + os.urandom(3000))
Worker.refresh = ruin
"""


@pytest.mark.parametrize(
    "data",
    some(
        [
            pytest.param("b'garbage'", id="garbage"),
            pytest.param("b'[' * 40000", id="deep"),
            pytest.param("b'1' * 30000", id="digits"),
            pytest.param("(b'{' + b'\\x22a\\x22:1,' * 9000)[:32768]", id="truncated"),
            pytest.param("os.urandom(32768)", id="random"),
            pytest.param("b'{}'", id="empty"),
        ],
        3,
    ),
)
def test_a_compromised_worker_stops_no_other_process(server: ServerProcess, data: str) -> None:
    server.changes = HOSTILE % data
    note_refreshes(server)
    configure(
        server,
        "LoadModule status_module m/mod_status.so\n<Location /status>\nSetHandler "
        "server-status\n</Location>\n",
    )
    server.start()
    server.wait_for(server.workers)
    wait_for_refreshes(server)
    for _ in range(2):
        victim = server.workers()[0]
        os.kill(victim, signal.SIGKILL)
        server.wait_for(
            lambda victim=victim: f"child pid {victim} left an unreadable scoreboard slot" in log_of(server)
        )  # type: ignore[misc]
        assert server.get().endswith(b"hello\n")
    assert server.get("/status").startswith(b"HTTP/1.1 200 "), server.errors()
    server.signal(signal.SIGTERM)
    assert server.process is not None
    assert server.process.wait(15) == 0
    assert "Traceback" not in server.errors()


def test_long_requests_are_cut_before_they_are_stored(server: ServerProcess) -> None:
    """One unread GET with 7,000 bytes that JSON expands sixfold once ended the master."""
    note_refreshes(server)
    server.start()
    with server.connect() as wire:
        wire.sendall(b"GET /big.bin?" + b"\xff" * 7000 + b" HTTP/1.1\r\nHost: x\r\n\r\n")
        server.wait_for(lambda: wire.recv(100))
        wait_for_refreshes(server)
        for worker in server.workers():
            os.kill(worker, signal.SIGKILL)
        server.wait_for(lambda: log_of(server).count("AH00052") >= 1)
    assert server.get().endswith(b"hello\n")
    assert "unreadable" not in log_of(server)


@pytest.mark.parametrize("status", [0, 15])
def test_workers_that_end_at_once_do_not_make_the_master_spin(server: ServerProcess, status: int) -> None:
    """15 is the status that ends httpd, from a worker that could not start: these have started."""
    server.changes = f"""
import os
from whimbrel.server.worker.worker import Worker
beat = Worker._beat
def end(self):
    beat(self)
    self.loop.call_later(0.05, os._exit, {status})
Worker._beat = end
"""
    configure(server, "StartServers 1\n")
    server.start()
    time.sleep(1.5)
    assert server.process is not None
    ticks = sum(
        map(int, Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()[11:13])
    )
    time.sleep(2.0)
    assert not server.ended()
    later = sum(
        map(int, Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()[11:13])
    )
    assert later - ticks < 40  # hundredths of a second


# a stuck event loop ------------------------------------------------------------------------------
def test_a_blocked_worker_is_replaced_and_the_log_has_its_stack(server: ServerProcess) -> None:
    server.changes = QUICK_WATCH + BLOCKING
    configure(server, "StartServers 1\n")
    server.start()
    server.wait_for(server.workers)
    blocked = server.workers()[0]
    with server.connect() as wire:
        wire.sendall(b"GET /block HTTP/1.1\r\nHost: x\r\n\r\n")
        server.wait_for(lambda: blocked not in server.workers() and server.workers())
    assert server.get().endswith(b"hello\n")
    log = log_of(server)
    assert re.search(
        rf"\[mpm_event:error\] .*child pid {blocked} has not turned its event loop for [12] seconds, "
        r"replacing it",
        log,
    )
    assert f"AH00052: child pid {blocked} exit signal Aborted (6)" in log
    assert "in slow" in log  # the blocking function


def test_a_worker_that_is_busy_in_a_thread_or_stopped_is_left_alone(server: ServerProcess) -> None:
    server.changes = QUICK_WATCH
    program(server, "slow.sh", "while read -r line; do sleep 3; echo $line; done")
    configure(
        server,
        "StartServers 2\nLoadModule rewrite_module m/mod_rewrite.so\nRewriteEngine On\nRewriteMap m "
        "prg:slow.sh\n"
        "RewriteRule ^/r/(.*) /${m:$1} [R]\n",
    )
    server.start()
    server.wait_for(server.workers)
    workers = server.workers()
    assert server.get("/r/x").startswith(b"HTTP/1.1 302 ")
    os.kill(workers[-1], signal.SIGSTOP)
    time.sleep(3.0)
    os.kill(workers[-1], signal.SIGCONT)
    time.sleep(0.5)
    assert server.workers() == workers
    assert "event loop" not in log_of(server)


# log programs ------------------------------------------------------------------------------------
def test_a_log_program_that_was_killed_is_started_again_under_k_start(server: ServerProcess) -> None:
    logger = program(
        server,
        "logger.sh",
        f"echo $$ >> {server.root}/loggers\npwd >> {server.root}/places\nexec cat >> "
        f"{server.root}/logs/piped",
    )
    configure(server, f'CustomLog "|{logger}" short\n')
    assert server.run("-k", "start").returncode == 0
    master = server.master()
    try:
        loggers = server.root / "loggers"
        server.wait_for(loggers.exists)
        first = int(loggers.read_text())
        assert first in children(master)
        time.sleep(1.1)  # a program that ends sooner restarts after a pause
        os.kill(first, signal.SIGKILL)
        server.wait_for(lambda: loggers.read_text().count("\n") == 2)
        assert f"AH00106: piped log program '{logger}' failed unexpectedly" in log_of(server)
        for _ in range(5):
            assert server.get().endswith(b"hello\n")
        server.wait_for(lambda: (server.root / "logs/piped").read_text().count(" 200 6\n") == 5)
        assert (server.root / "places").read_text() == f"{server.root}\n" * 2  # httpd: the server root
    finally:
        server.run("-k", "stop")
        server.wait_for(lambda: not Path(f"/proc/{master}").exists())


def test_a_log_program_that_ends_at_once_or_has_gone_is_tried_again_with_pauses(
    server: ServerProcess,
) -> None:
    logger = program(server, "logger.sh", f"echo x >> {server.root}/loggers")
    configure(server, f'CustomLog "|{logger}" short\n')
    server.start()
    server.wait_for((server.root / "loggers").exists)
    time.sleep(2.5)
    assert (server.root / "loggers").read_text().count("x") <= 5
    logger.unlink()
    server.wait_for(
        lambda: (
            f"(2)No such file or directory: AH00104: unable to start piped log program '{logger}'"
            in log_of(server)
        )
    )
    assert (
        f"(2)No such file or directory: AH00107: piped_log_maintenance: unable to respawn '{logger}'"
        in log_of(server)
    )
    program(server, "logger.sh", f"exec cat >> {server.root}/logs/piped")
    server.wait_for((server.root / "logs/piped").exists)
    assert server.get().endswith(b"hello\n")
    server.wait_for(lambda: "GET /" in (server.root / "logs/piped").read_text())


def test_log_programs_of_before_a_graceful_restart_end(server: ServerProcess) -> None:
    logger = program(
        server, "logger.sh", f"echo $$ >> {server.root}/loggers\nexec cat >> {server.root}/logs/piped"
    )
    configure(server, f'CustomLog "|{logger}" short\n')
    server.start()
    server.wait_for((server.root / "loggers").exists)
    first = int((server.root / "loggers").read_text())
    server.signal(signal.SIGUSR1)
    server.wait_for(lambda: first not in server.workers())
    assert server.get().endswith(b"hello\n")


# ends of the master ------------------------------------------------------------------------------
@pytest.mark.parametrize("number", [signal.SIGQUIT, signal.SIGALRM])
def test_a_signal_that_ends_the_master_is_logged(server: ServerProcess, number: signal.Signals) -> None:
    server.start()
    server.wait_for(server.workers)
    workers = server.workers()
    server.signal(number)
    assert server.process is not None
    assert server.process.wait(30) == 1
    assert f"caught {number.name}, shutting down" in log_of(server)
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)


def test_a_crash_of_the_interpreter_is_logged(server: ServerProcess) -> None:
    server.start()
    server.wait_for(server.workers)
    server.signal(signal.SIGSEGV)
    assert server.process is not None
    assert server.process.wait(30) == -signal.SIGSEGV
    assert "Fatal Python error: Segmentation fault" in log_of(server)


def test_a_fault_between_signals_is_logged_and_survived(server: ServerProcess) -> None:
    server.changes = """
from whimbrel.server.master.worker_pool import WorkerPool
reap, left = WorkerPool.reap, [None]
def fail(self, generation):
    if left and self.running:
        left.pop()
        raise MemoryError("no more")
    reap(self, generation)
WorkerPool.reap = fail
"""
    server.start()
    server.wait_for(lambda: "MemoryError: no more" in log_of(server))
    assert server.get().endswith(b"hello\n")
    assert not server.ended()


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGUSR1])
def test_a_fault_in_a_restart_is_logged_and_ends_the_server(server: ServerProcess, number: int) -> None:
    server.changes = """
from whimbrel.cli.config_loader import ConfigLoader
def fail(self):
    raise RecursionError("too deep")
ConfigLoader.reload = fail
"""
    server.start()
    server.wait_for(server.workers)
    workers = server.workers()
    server.signal(number)
    assert server.process is not None
    assert server.process.wait(15) == 1
    assert ":crit]" in log_of(server) and "RecursionError: too deep" in log_of(server)
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
    assert not (server.root / "logs/httpd.pid").exists()


def test_a_configuration_that_is_gone_at_a_restart(server: ServerProcess) -> None:
    """httpd: one line, exit status 1."""
    server.start()
    (server.root / "conf/httpd.conf").unlink()
    server.signal(signal.SIGHUP)
    assert server.process is not None
    assert server.process.wait(30) == 1
    assert re.search(
        r"Could not open configuration file \S*/conf/httpd.conf: No such file or directory", log_of(server)
    )


@pytest.mark.parametrize("log", ["/dev/full", "|/bin/false", "|/bin/sleep 60"])
def test_a_full_error_log_stops_no_process(server: ServerProcess, log: str) -> None:
    configure(server, f'ErrorLog "{log}"\n')
    server.start()
    server.wait_for(server.workers)
    time.sleep(1.2)  # a log program that ends sooner restarts after a pause
    for worker in without_programs(server):
        os.kill(worker, signal.SIGKILL)
    assert server.get().endswith(b"hello\n")
    before = without_programs(server)
    server.signal(signal.SIGHUP)
    server.wait_for(lambda: without_programs(server) - before and not without_programs(server) & before)
    assert server.get().endswith(b"hello\n")
    assert not server.ended()


def test_descriptors_that_run_out_at_a_restart_are_logged(server: ServerProcess) -> None:
    import resource

    server.start()
    server.wait_for(server.workers)
    assert server.process is not None
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (5, 5))
    server.signal(signal.SIGHUP)
    assert server.process.wait(15) == 1
    assert "Too many open files" in log_of(server)


# users, directories, dispositions ----------------------------------------------------------------
@ROOT
@pytest.mark.parametrize(
    ("lines", "alert"),
    [
        (
            "User www-data",
            r"\(22\)Invalid argument: AH02156: setgid: unable to set group id to Group 4294967295",
        ),
        (
            "User #99999\nGroup www-data",
            r"AH02155: getpwuid: couldn't determine user name from uid 99999, you probably need to modify "
            r"the User ",
        ),
    ],
)
def test_a_worker_that_cannot_become_its_user_ends_the_server(
    server: ServerProcess, lines: str, alert: str
) -> None:
    path = server.root / "conf/httpd.conf"
    path.write_text(path.read_text().replace("User www-data\nGroup www-data", lines))
    server.start()
    assert server.process is not None
    assert server.process.wait(30) == 1
    assert re.search(rf"\[unixd:alert\] \[pid \d+:tid \d+\] {alert}", log_of(server))
    assert re.search(r"AH00050: Child \d+ returned a Fatal error\.\.\. Apache is exiting!", log_of(server))
    assert server.run("-X").returncode == 1


@pytest.mark.parametrize(
    ("how", "place"), [(["-k", "start"], "/"), (["-DNO_DETACH"], "/"), (["-DFOREGROUND"], "")]
)
def test_the_directory_of_the_master(server: ServerProcess, how: list[str], place: str) -> None:
    if how[0] == "-k":
        assert server.run(*how).returncode == 0
    else:
        server.start(*how[1:]) if how[0] == "-DFOREGROUND" else start_as(server, *how)
    master = server.master()
    try:
        assert os.readlink(f"/proc/{master}/cwd") == place or str(server.root)
        assert os.readlink(f"/proc/{children(master)[0]}/cwd") == (place or str(server.root))
        os.kill(master, signal.SIGUSR1)
        server.wait_for(lambda: log_of(server).count("resuming normal operations") == 2)
        assert server.get().endswith(b"hello\n")
    finally:
        server.run("-k", "stop")
        server.wait_for(
            lambda: (
                not Path(f"/proc/{master}/cmdline").exists()
                or not Path(f"/proc/{master}/cmdline").read_bytes()
            )
        )


STANDARD_SIGNALS = (1 << 31) - 1  # 1 to 31: the environment of the tests determines the others


def start_as(server: ServerProcess, *how: str) -> None:
    import subprocess

    server.process = subprocess.Popen(server.command(*how), cwd=server.root, env=server.environment)
    server.wait_for(lambda: (server.root / "logs/httpd.pid").exists() or server.ended())


def test_cgi_programs_inherit_no_ignored_signals(server: ServerProcess) -> None:
    program(server, "s.cgi", "echo; grep -E 'Sig(Ign|Blk)' /proc/self/status")
    configure(server, f"LoadModule cgi_module m/mod_cgi.so\nScriptAlias /s {server.root}/s.cgi\n")
    server.start()
    found = dict(re.findall(rb"Sig(Blk|Ign):\t([0-9a-f]+)", server.get("/s")))
    assert [int(found[name], 16) & STANDARD_SIGNALS for name in (b"Blk", b"Ign")] == [0, 0]
    for number in (
        signal.SIGINT,
        signal.SIGWINCH,
    ):  # signals of a terminal reach all processes of the group: the master decides
        for worker in server.workers():
            os.kill(worker, number)
    time.sleep(0.3)
    workers = server.workers()
    assert server.get().endswith(b"hello\n")
    assert server.workers() == workers


# -X ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "number",
    [signal.SIGUSR1, signal.SIGHUP, signal.SIGWINCH, signal.SIGUSR2, signal.SIGQUIT, signal.SIGALRM],
)
def test_x_with_threads_has_no_use_for_restarts(server: ServerProcess, number: int) -> None:
    """apache2 -X with mpm_event or mpm_worker ignores them."""
    server.start("-X")
    assert server.get().endswith(b"hello\n")
    for _ in range(2):
        server.signal(number)
        time.sleep(0.3)
        assert server.get().endswith(b"hello\n")
    server.signal(signal.SIGINT)
    assert server.process is not None
    assert server.process.wait(30) == 0


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGUSR1, -signal.SIGUSR1), (signal.SIGHUP, -signal.SIGHUP), (signal.SIGWINCH, 0)],
)
def test_x_with_prefork_ends(server: ServerProcess, number: int, status: int) -> None:
    path = server.root / "conf/httpd.conf"
    path.write_text(path.read_text().replace("mpm_event", "mpm_prefork"))
    server.start("-X")
    assert server.get().endswith(b"hello\n")
    server.signal(number)
    assert server.process is not None
    assert server.process.wait(30) == status


# restarts under load -----------------------------------------------------------------------------
def test_a_restart_under_load_resets_no_busy_connection(server: ServerProcess) -> None:
    """20 clients, 4 HUPs: apache2 with mpm_event cuts some 70 connections, with prefork 20."""
    server.start()
    answered: list[int] = []
    cut: list[str] = []
    over = threading.Event()

    def client() -> None:
        wire: socket.socket | None = None
        count = 0
        while not over.is_set():
            try:
                wire = wire or server.connect()
                wire.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                got = b""
                while not got.endswith(b"hello\n"):
                    data = wire.recv(65536)
                    if not data:
                        raise ConnectionError("end of file")
                    got += data
                count += 1
                if b"Connection: close" in got:
                    wire = wire.close()
            except OSError as problem:
                cut.append(repr(problem))
                wire = None
        answered.append(count)

    threads = [threading.Thread(target=client) for _ in range(20)]
    for thread in threads:
        thread.start()
    for restart in range(4):
        time.sleep(0.5)
        server.signal(signal.SIGHUP)
        server.wait_for(
            lambda restart=restart: log_of(server).count("resuming normal operations") == restart + 2
        )  # type: ignore[misc]
    time.sleep(0.3)
    over.set()
    for thread in threads:
        thread.join(30)
    assert sum(answered) > 100
    assert len(cut) <= 4, cut


def test_a_restart_closes_idle_connections(server: ServerProcess) -> None:
    configure(server, "KeepAliveTimeout 60\n")
    server.start()
    with server.connect() as wire:
        wire.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        server.wait_for(lambda: b"hello" in wire.recv(65536))
        begin = time.monotonic()
        server.signal(signal.SIGHUP)
        assert everything(wire) == b""
        assert time.monotonic() - begin < 20


# RewriteMap prg: ---------------------------------------------------------------------------------
PRG = (
    "LoadModule rewrite_module m/mod_rewrite.so\nStartServers 2\nRewriteEngine On\nRewriteMap m prg:map.sh\n"
    "RewriteRule ^/p/(.*) http://e.test/${m:$1|none} [R]\n"
)


def test_one_program_answers_all_workers(server: ServerProcess) -> None:
    program(server, "map.sh", f"id -u >> {server.root}/users\nwhile read -r line; do echo $$-$line; done")
    configure(server, PRG)
    server.start()
    seen: set[bytes] = set()
    wrong: list[bytes] = []

    def client(number: int) -> None:
        for n in range(20):
            found = re.search(rb"Location: http://e.test/(\d+)-(\S+)\r", server.get(f"/p/{number}.{n}"))
            if found is None or found[2] != b"%d.%d" % (number, n):
                wrong.append(found[0] if found is not None else b"")
            else:
                seen.add(found[1])

    threads = [threading.Thread(target=client, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong == []
    assert len(seen) == 1
    first = int(seen.pop())
    assert first in server.workers()
    # as httpd: the user who starts the server
    assert (server.root / "users").read_text() == f"{os.getuid()}\n"
    server.signal(signal.SIGUSR1)
    server.wait_for(lambda: first not in server.workers())
    assert b"-again" in server.get("/p/again")


def test_a_program_that_cannot_be_started_stops_the_start(server: ServerProcess) -> None:
    (server.root / "map.sh").write_text("x")
    configure(server, PRG)
    assert server.run("-DFOREGROUND").returncode == 1
    path = f"{server.root}/map.sh"
    assert (
        f"(13)Permission denied: AH00654: mod_rewrite: could not start RewriteMap program {path}"
        in log_of(server)
    )
    assert log_of(server).endswith("AH00020: Configuration Failed, exiting\n")


IMPORTS = """
import os, sys
def note(event, arguments):
    if event == "import":
        with open(PATH, "a") as sink:
            print(arguments[0], file=sink)
os.register_at_fork(after_in_child=lambda: sys.addaudithook(note))
"""
WIDE = """
LoadModule authn_core_module m/mod_authn_core.so
LoadModule authn_file_module m/mod_authn_file.so
LoadModule authz_user_module m/mod_authz_user.so
LoadModule auth_basic_module m/mod_auth_basic.so
LoadModule autoindex_module m/mod_autoindex.so
LoadModule deflate_module m/mod_deflate.so
LoadModule filter_module m/mod_filter.so
LoadModule headers_module m/mod_headers.so
LoadModule include_module m/mod_include.so
LoadModule negotiation_module m/mod_negotiation.so
LoadModule rewrite_module m/mod_rewrite.so
LoadModule status_module m/mod_status.so
<Directory "htdocs">
    AllowOverride All
    Options Indexes Includes MultiViews FollowSymLinks
    AddOutputFilter INCLUDES .shtml
    FileETag Digest
</Directory>
AddOutputFilterByType DEFLATE text/html
RewriteEngine On
RewriteCond expr "%{REQUEST_URI} =~ m#^/old#"
RewriteRule ^/old(.*) /index.html [L]
Header set X-Time "expr=%{TIME_YEAR}"
<Location "/server-status">
    SetHandler server-status
</Location>
"""


def test_workers_import_nothing(server: ServerProcess) -> None:
    """A worker may be unable to read the package: its requests find everything imported."""
    log = server.root / "logs/imports"
    log.write_text("")
    log.chmod(0o666)
    server.changes = IMPORTS.replace("PATH", repr(str(log)))
    (server.root / "conf/extra.conf").write_text(WIDE)
    (server.root / "htdocs/page.shtml").write_text(
        "<!--#if expr=\"%{REQUEST_URI} -strmatch '/p*'\" -->\nyes\n"
    )
    for name in ("list", "secret"):
        (server.root / "htdocs" / name).mkdir()
    (server.root / "htdocs/list/a.txt").write_text("a\n")
    (server.root / "passwords").write_text("u:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n")  # password
    (server.root / "htdocs/secret/.htaccess").write_text(
        f'AuthType Basic\nAuthName x\nAuthUserFile "{server.root}/passwords"\nRequire valid-user\n'
    )
    server.start()
    fields = b"Host: localhost\r\nAccept-Encoding: gzip\r\nConnection: close\r\n"
    user = b"Authorization: Basic dTpwYXNzd29yZA==\r\n"
    for target, status, more in (
        (b"/", 200, b""),
        (b"/index", 200, b""),
        (b"/page.shtml", 200, b""),
        (b"/list/", 200, b""),
        (b"/list", 301, b""),
        (b"/old", 200, b""),
        (b"/none", 404, b""),
        (b"/big.bin", 206, b"Range: bytes=1-2\r\n"),
        (b"/secret/", 401, b""),
        (b"/secret/", 200, user),
        (b"/server-status", 200, b""),
        (b"/index.html", 304, b"If-Modified-Since: Sun, 13 Sep 2020 12:26:40 GMT\r\n"),
    ):
        response = server.ask(b"GET %b HTTP/1.1\r\n%b%b\r\n" % (target, fields, more))
        assert response.split(b" ", 2)[1] == str(status).encode(), (target, response[:200])
    server.stop()
    assert log.read_text() == ""
