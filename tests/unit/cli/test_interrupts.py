"""Ctrl-C ends a command within a second: one sentence, exit code 130, no file changed, no process left."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.samples import some

from whimbrel.base import file_writing
from whimbrel.cli.interrupts import repeat_lost_interrupts, uninterrupted

MAX_SECONDS = 3.0
"""A second, on a machine that has other work to do: for each process that a processor has to run."""
WORKING = 0.8
"""Seconds of processor time after which a command reads the configuration."""
NEEDS_PROC = pytest.mark.skipif(
    not os.path.exists("/proc/self/stat"), reason="needs /proc, for the time and the children of a process"
)
HEAD = """LoadModule mpm_event_module modules/mod_mpm_event.so
LoadModule authz_core_module modules/mod_authz_core.so
LoadModule authz_host_module modules/mod_authz_host.so
LoadModule authn_core_module modules/mod_authn_core.so
LoadModule alias_module modules/mod_alias.so
LoadModule rewrite_module modules/mod_rewrite.so
LoadModule log_config_module modules/mod_log_config.so
ServerRoot "{root}"
ServerName localhost
Listen 127.0.0.1:8080
DocumentRoot "{root}/htdocs"
"""
HOST = """<VirtualHost *:8080>
  ServerName host{n}.example
  <Directory "{root}/htdocs/d{n}">
    {access}
  </Directory>
  RedirectMatch ^/old{n}/(.*)$ /new{n}/$1
</VirtualHost>
"""
OF_22 = "Order deny,allow\n    Deny from all\n    Allow from 10.{n}.0.0/16 192.168.{n}"
OF_24 = "Require ip 10.{n}.0.0/16 192.168.{n}"
LINE = '10.1.2.3 - - [29/Nov/2026:10:00:00 +0000] "GET /old1/x{n} HTTP/1.1" 302 210\n'


def longest() -> float:
    """Return the seconds that an end may take."""
    return MAX_SECONDS * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def write_server(root: Path, access: str, hosts: int) -> None:
    """Write a server with *hosts* virtual hosts: 250 keep a command busy for several seconds."""
    for name in ("conf", "logs", "htdocs"):
        (root / name).mkdir(parents=True)
    text = "".join(HOST.format(n=n, root=root, access=access.format(n=n)) for n in range(hosts))
    (root / "conf" / "httpd.conf").write_text(HEAD.format(root=root) + text)


def snapshot(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def interrupted(*words: str, has_children: bool = False) -> tuple[int, bytes, float]:
    """Return exit code, standard error and seconds to the end of a command that gets SIGINT while it works;
    all its processes get it, as from a terminal. With *has_children* it is one that shares its work.
    """
    command = [sys.executable, "-c", "from whimbrel.cli.entry import main; main()", *words]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, process_group=0
    )
    try:
        wait_for_work(process, has_children=has_children)
        sent = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        _, problem = process.communicate(timeout=30)
        took = time.monotonic() - sent
        with pytest.raises(ProcessLookupError):  # no child outlives it; multiprocessing's own ends after it
            for _ in range(500):
                os.killpg(process.pid, 0)
                time.sleep(0.01)
    finally:
        process.kill()
        process.wait()
    return process.returncode, problem, took


def wait_for_work(process: subprocess.Popen[bytes], *, has_children: bool) -> None:
    """Wait until *process* has children, or has used the processor for so long that it has imported its
    modules.
    """
    ticks = os.sysconf("SC_CLK_TCK")
    proc = Path(f"/proc/{process.pid}")
    while process.poll() is None:
        fields = (proc / "stat").read_bytes().rpartition(b") ")[2].split()
        children = (proc / "task" / proc.name / "children").read_bytes()
        if children if has_children else (int(fields[11]) + int(fields[12])) / ticks >= WORKING:
            return
        time.sleep(0.01)
    raise AssertionError(f"ended by itself: {process.stderr.read() if process.stderr else b''!r}")


@NEEDS_PROC
@pytest.mark.parametrize("command", some(["upgrade", "verify", "replay", "check"], 2))
def test_one_sentence_and_no_change(tmp_path: Path, command: str) -> None:
    root = tmp_path / "server"
    write_server(root, OF_22 if command in ("upgrade", "check") else OF_24, 250)
    log = root / "access_log"
    log.write_text("".join(LINE.format(n=n) for n in range(100_000)))
    words = {
        "upgrade": ("upgrade", "--write", "-d", str(root)),
        "verify": ("verify", str(root), "--old-dialect", "2.4"),
        "replay": ("replay", str(log), "--new", str(root), "-j", "2"),
        "check": ("check", "-d", str(root)),
    }[command]
    before = snapshot(root)
    code, problem, took = interrupted(*words, has_children=command == "replay")
    assert problem == b"interrupted: no file was changed\n"
    assert code == 130
    assert snapshot(root) == before
    assert took < longest()


@NEEDS_PROC
def test_many_servers_on_all_cores(tmp_path: Path) -> None:
    """The processes of a check of many trees end with it, without a word of their own."""
    for number in range(40):
        write_server(tmp_path / f"server{number}", OF_22, 40)
    code, problem, took = interrupted("check", str(tmp_path), "-j", "2", has_children=True)
    assert (code, problem) == (130, b"interrupted: no file was changed\n")
    assert took < longest()


@NEEDS_PROC
@pytest.mark.parametrize("words", some([("check",), ("upgrade", "--write", "--no-verify")], 1))
def test_a_fleet_names_what_was_finished(tmp_path: Path, words: tuple[str, ...]) -> None:
    for number in range(40):
        write_server(tmp_path / f"server{number}", OF_22, 200)
    code, problem, took = interrupted(*words, "--fleet", str(tmp_path), "-j", "2", has_children=True)
    assert code == 130
    assert re.fullmatch(rb"interrupted: \d+ of 40 servers are finished\n", problem)
    assert took < longest()


def test_an_interrupt_in_a_finalizer_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python prints and drops an exception of a finalizer: the command would go on."""

    class Finalized:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    before = signal.getsignal(signal.SIGALRM)
    repeat_lost_interrupts()
    ends = time.monotonic() + 10
    try:
        with pytest.raises(KeyboardInterrupt):
            item = Finalized()
            del item
            while time.monotonic() < ends:
                pass
    finally:
        signal.signal(signal.SIGALRM, before)


def test_what_is_being_written_is_written() -> None:
    with uninterrupted():
        signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_the_writer_knows_that_it_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_writing._History, "has_written", False)
    tree = file_writing.Tree(bytes(tmp_path))
    assert not file_writing.has_written()
    with tree.place(bytes(tmp_path / "a")) as place:
        place.replace(b"text")
    assert file_writing.has_written()
