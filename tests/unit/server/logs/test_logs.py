"""Log files, pipes, atomic lines."""

from __future__ import annotations

import os
import resource
import syslog
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from whimbrel.base.dialect import V22, V24
from whimbrel.base.errors import StartError
from whimbrel.config.model import LogSink
from whimbrel.server.logs.logs import MAX_WAITING, LogFile, Logs, Syslog, grouped


# logs --------------------------------------------------------------------------------------------
def test_lines_are_grouped_within_what_a_pipe_keeps_together() -> None:
    assert grouped([b"a" * 3, b"b" * 3, b"c" * 5, b"d" * 9, b"e"], 8) == [b"aaabbb", b"ccccc", b"d" * 9, b"e"]


def test_buffered_logs_wait_for_a_block(tmp_path: Path) -> None:
    target = tmp_path / "log"
    output = LogFile(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_APPEND), hold=True)
    output.add(b"x" * 100 + b"\n")
    output.flush(everything=False)
    assert target.read_bytes() == b""
    output.add(b"y" * 4096 + b"\n")
    output.flush(everything=False)
    assert len(target.read_bytes()) == 101 + 4097
    output.add(b"z\n")
    output.flush()
    assert target.read_bytes().endswith(b"\nz\n")


def test_lines_of_two_processes_are_never_torn(tmp_path: Path) -> None:
    logs = Logs(V24, "program")
    sink = LogSink(str(tmp_path / "log"))
    logs.open([sink])
    children = []
    for letter in b"ab":
        pid = os.fork()
        if not pid:
            for size in range(1, 400):
                logs.write(sink, bytes([letter]) * (size * 37 % 9000 + 1) + b"\n")
            os._exit(0)
        children.append(pid)
    for pid in children:
        assert os.waitpid(pid, 0)[1] == 0
    lines = (tmp_path / "log").read_bytes().splitlines()
    assert len(lines) == 2 * 399
    assert all(len(set(line)) == 1 for line in lines)


def test_lines_that_a_full_pipe_refuses_wait() -> None:
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    output = LogFile(write_end, pipe=True)
    wanted = b""
    for number in range(40000):
        line = b"%08d\n" % number
        wanted += line
        output.add(line)
    output.flush()
    got = b""
    while len(got) < len(wanted):
        got += os.read(read_end, 65536)
        output.flush()
    assert got == wanted


@pytest.mark.parametrize(
    ("dialect", "first", "last"),
    [
        (
            V24,
            "(21)Is a directory: AH00091: apache2: could not open error log file {}.",
            "AH00015: Unable to open logs",
        ),
        (V22, "(21)Is a directory: apache2: could not open error log file {}.", "Unable to open logs"),
    ],
)
def test_a_directory_is_no_error_log(tmp_path: Path, dialect: object, first: str, last: str) -> None:
    with pytest.raises(StartError) as caught:
        Logs(dialect, "apache2").open_error_log(LogSink(str(tmp_path)))  # type: ignore[arg-type]
    assert caught.value.lines == (first.format(tmp_path), last)


def test_a_log_program_that_does_not_start_leaves_no_pipe(tmp_path: Path) -> None:
    """A graceful restart with such a line fails, and the server runs on."""
    before = os.listdir("/proc/self/fd")
    for _ in range(3):
        with pytest.raises(StartError):
            Logs(V24, "program")._open_program(LogSink(f"{tmp_path}/none", piped=True), error_log=False)
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_a_log_program_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(StartError) as caught:
        Logs(V24, "apache2").open([LogSink(f"{tmp_path}/none x", piped=True)])
    assert (
        caught.value.lines[0]
        == f"(2)No such file or directory: AH00104: unable to start piped log program '{tmp_path}/none x'"
    )


def test_names_without_a_slash_are_files_of_the_working_directory() -> None:
    """A bare ``|cat`` does not start in 2.4 (recorded): PATH is not searched."""
    with pytest.raises(StartError):
        Logs(V24, "apache2").open([LogSink("cat", piped=True)])


def test_a_full_disk_raises_nothing_and_complete_lines_wait_up_to_a_bound() -> None:
    output = LogFile(os.open("/dev/full", os.O_WRONLY))
    for number in range(3 * MAX_WAITING // 100):
        output.add(b"%099d\n" % number)
        if number % 1000 == 0:
            output.flush(everything=False)
    output.flush()
    assert output.blocked
    read_end, output.handle = os.pipe()
    os.set_blocking(output.handle, True)
    pid = os.fork()
    if not pid:
        os.close(read_end)
        output.flush()
        os._exit(0)
    os.close(output.handle)
    got = b""
    while data := os.read(read_end, 1 << 16):
        got += data
    os.waitpid(pid, 0)
    assert 0 < len(got) <= MAX_WAITING and len(got) % 100 == 0
    assert got.startswith(b"%099d\n" % 0)


def test_what_waits_is_written_when_the_program_reads_again() -> None:
    """The retry needs no further line."""
    later: list[Callable[[], None]] = []
    logs = Logs(V24, "program")
    sink = LogSink("a program", piped=True)
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    logs.outputs[sink] = LogFile(write_end, pipe=True)
    logs.attach(lambda call: None, lambda _seconds, call: later.append(call))
    wanted = b""
    for number in range(9000):
        line = b"%015d\n" % number
        wanted += line
        logs.write(sink, line)
    logs.flush_tick()
    assert len(later) == 1
    got = b""
    while later:
        got += os.read(read_end, 1 << 20)
        later.pop()()
    os.set_blocking(read_end, False)
    got += os.read(read_end, 1 << 20)
    assert got == wanted


def test_lines_of_an_error_log_do_not_wait_for_the_end_of_the_tick(tmp_path: Path) -> None:
    logs = Logs(V24, "program", str(tmp_path))
    errors, accesses = LogSink(str(tmp_path / "errors")), LogSink(str(tmp_path / "accesses"))
    logs.open([errors], error_log=True)
    logs.open([accesses])
    due: list[Callable[[], None]] = []
    logs.attach(due.append)
    logs.write(accesses, b"access\n")
    logs.write(errors, b"error\n")
    assert (tmp_path / "errors").read_bytes() == b"error\n"
    assert (tmp_path / "accesses").read_bytes() == b""
    due.pop()()
    assert (tmp_path / "accesses").read_bytes() == b"access\n" and due == []


def test_the_end_waits_for_a_slow_program_only_so_long() -> None:
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    output = LogFile(write_end, pipe=True)
    output.add(b"x" * 999 + b"\n")
    for _ in range(100):
        output.add(b"x" * 999 + b"\n")
    begun = time.monotonic()
    output.finish(begun + 0.2)
    assert 0.15 < time.monotonic() - begun < 3
    assert output.blocked
    os.close(read_end)


def test_syslog_gets_levels_as_priorities_and_no_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """As httpd: the system's log adds the time."""
    told: list[tuple[int, str]] = []
    monkeypatch.setattr(syslog, "syslog", lambda priority, line: told.append((priority, line)))
    output = Syslog()
    for line in (
        "[Sat Nov 21 15:32:16.298286 2026] [core:notice] [pid 7:tid 7] AH00094: Command line: 'x'",
        "[Sat Nov 21 15:32:16 2026] [crit] c",
        "[Sat Nov 21 15:32:16.298286 2026] [rewrite:trace3] [pid 7:tid 7] t",
        "AH00016: Configuration Failed",
    ):
        output.add(line.encode() + b"\n")
    output.flush()
    assert told == [
        (syslog.LOG_NOTICE, "[core:notice] [pid 7:tid 7] AH00094: Command line: 'x'"),
        (syslog.LOG_CRIT, "[crit] c"),
        (syslog.LOG_DEBUG, "[rewrite:trace3] [pid 7:tid 7] t"),
        (syslog.LOG_ERR, "AH00016: Configuration Failed"),
    ]


def test_the_facility_and_tag_of_syslog(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, int, int]] = []
    monkeypatch.setattr(syslog, "openlog", lambda *words: told.append(words))
    Logs(V24, "program").open_error_log(LogSink("local3:site", syslog=True))
    assert told == [("site", syslog.LOG_PID, syslog.LOG_LOCAL3)]
    with pytest.raises(StartError, match="AH10036"):
        Logs(V24, "program").open_error_log(LogSink("nosuch", syslog=True))


def test_a_line_that_a_full_disk_cuts_is_taken_back(tmp_path: Path) -> None:
    """The lines of another worker follow what is in the file."""
    path = tmp_path / "log"
    path.write_bytes(b"first\n")
    first, second = (LogFile(os.open(path, os.O_WRONLY | os.O_APPEND)) for _ in range(2))
    first.add(b"second\n")
    first.add(b"third\n")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, hard))
    try:
        first.flush()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert first.blocked
    assert path.read_bytes() == b"first\nsecond\n"
    second.add(b"other\n")
    second.flush()
    first.flush()
    assert not first.blocked
    assert path.read_bytes() == b"first\nsecond\nother\nthird\n"
    for log in (first, second):
        os.close(log.handle)
