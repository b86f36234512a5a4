"""Log files, pipes, lines that stay whole."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from whimbrel.config.model import LogSink
from whimbrel.dialect import V22, V24
from whimbrel.errors import StartError
from whimbrel.server.logs import Logs, Output, grouped


# logs ---------------------------------------------------------------------------------------------
def test_lines_are_grouped_within_what_a_pipe_keeps_together() -> None:
    assert grouped([b"a" * 3, b"b" * 3, b"c" * 5, b"d" * 9, b"e"], 8) == [b"aaabbb", b"ccccc", b"d" * 9, b"e"]


def test_buffered_logs_wait_for_a_block(tmp_path: Path) -> None:
    target = tmp_path / "log"
    output = Output(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_APPEND), hold=True)
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


def test_what_a_full_pipe_refuses_is_kept() -> None:
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    output = Output(write_end, pipe=True)
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


@pytest.mark.parametrize(("dialect", "first", "last"), [
    (V24, "(21)Is a directory: AH00091: apache2: could not open error log file {}.", "AH00015: Unable to open logs"),
    (V22, "(21)Is a directory: apache2: could not open error log file {}.", "Unable to open logs"),
])
def test_a_folder_is_no_error_log(tmp_path: Path, dialect: object, first: str, last: str) -> None:
    with pytest.raises(StartError) as caught:
        Logs(dialect, "apache2").open_error_log(LogSink(str(tmp_path)))  # type: ignore[arg-type]
    assert caught.value.lines == (first.format(tmp_path), last)


def test_a_log_program_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(StartError) as caught:
        Logs(V24, "apache2").open([LogSink(f"{tmp_path}/none x", piped=True)])
    assert caught.value.lines[0] == f"(2)No such file or directory: AH00104: unable to start piped log program '{tmp_path}/none x'"


def test_names_without_a_slash_are_files_of_the_working_folder() -> None:
    """A bare ``|cat`` doesn't start in 2.4 (recorded): no PATH is searched."""
    with pytest.raises(StartError):
        Logs(V24, "apache2").open([LogSink("cat", piped=True)])
