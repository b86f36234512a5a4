"""Logs, PidFile, scoreboard, file sending, sockets, privileges: each on its own."""

from __future__ import annotations

import ast
import asyncio
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import whimbrel
from whimbrel.config.model import Listener, LogSink
from whimbrel.dialect import V22, V24
from whimbrel.errors import StartError
from whimbrel.request.body import FilePart
from whimbrel.server import pidfile
from whimbrel.server.logs import Logs, Output, grouped
from whimbrel.server.pipes import words
from whimbrel.server.scoreboard import SLOT, Board
from whimbrel.server.sending import FileSender
from whimbrel.server.sockets import bind_all

PACKAGE = Path(whimbrel.__file__).parent


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


@pytest.mark.parametrize(("command", "wanted"), [
    ("/bin/p a b", ["/bin/p", "a", "b"]), ("/bin/p 'a b' c", ["/bin/p", "a b", "c"]), ('/bin/p "c d"', ["/bin/p", "c d"]), ("", [""]),
])
def test_words_of_a_log_program(command: str, wanted: list[str]) -> None:
    assert words(command) == wanted


# the PidFile --------------------------------------------------------------------------------------
def test_pid_file(tmp_path: Path) -> None:
    path = str(tmp_path / "pid")
    assert pidfile.read(path) is None
    pidfile.publish(path, pidfile.prepare(path, 4711))
    assert (tmp_path / "pid").read_text() == "4711\n"
    assert (tmp_path / "pid").stat().st_mode & 0o777 == 0o644
    pidfile.remove(path, 1)
    assert pidfile.read(path) == 4711
    pidfile.remove(path, 4711)
    assert pidfile.read(path) is None


@pytest.mark.parametrize("text", ["garbage\n", "", "-5\n", "0\n", "12x\n"])
def test_garbage_in_the_pid_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "pid").write_text(text)
    with pytest.raises(pidfile.BadPidFile):
        pidfile.read(str(tmp_path / "pid"))


# the scoreboard -----------------------------------------------------------------------------------
def test_the_board_is_shared_with_children() -> None:
    board = Board(4)
    pid = os.fork()
    if not pid:
        board.write(2, {"accesses": 7, "rows": []})
        os._exit(0)
    os.waitpid(pid, 0)
    assert board.read(2) == {"accesses": 7, "rows": []}
    assert board.read(1) is None
    board.clear(2)
    assert board.read(2) is None


def test_a_crowd_of_rows_is_cut_to_fit() -> None:
    board = Board(2)
    board.write(0, {"accesses": 1, "rows": [{"request": "x" * 100} for _ in range(SLOT // 100)]})
    found = board.read(0)
    assert found is not None
    assert found["accesses"] == 1
    assert len(found["rows"]) == 16


# files --------------------------------------------------------------------------------------------
def test_files_are_sent_whole_to_a_slow_reader(tmp_path: Path) -> None:
    content = os.urandom(9_000_001)
    (tmp_path / "f").write_bytes(content)

    async def main() -> tuple[bytes, int]:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        theirs.setblocking(False)
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        handle = os.open(tmp_path / "f", os.O_RDONLY)
        parts: list[bytes | FilePart] = [b"head", FilePart(handle, 1, len(content) - 1), b"tail"]
        FileSender(asyncio.get_running_loop(), ours, parts, lambda count, problem: done.set_result(count), lambda: None).start()
        got = b""
        while len(got) < len(content) + 7:
            got += await asyncio.get_running_loop().sock_recv(theirs, 50_000)
        count = await done
        with pytest.raises(OSError):
            os.fstat(handle)
        ours.close()
        theirs.close()
        return got, count

    got, count = asyncio.run(main())
    assert got == b"head" + content[1:] + b"tail"
    assert count == len(got)


def test_a_file_that_became_shorter_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"abc")

    async def main() -> OSError | None:
        ours, _theirs = socket.socketpair()
        found: list[OSError | None] = []
        part = FilePart(os.open(tmp_path / "f", os.O_RDONLY), 0, 10)
        FileSender(asyncio.get_running_loop(), ours, [part], lambda count, problem: found.append(problem), lambda: None).start()
        return found[0]

    assert isinstance(asyncio.run(main()), OSError)


# sockets ------------------------------------------------------------------------------------------
def test_a_port_in_use_is_refused_in_httpds_words() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(StartError) as caught:
            bind_all([Listener("127.0.0.1", port)], {}, 5, V24)
    assert caught.value.lines == (
        f"(98)Address already in use: AH00072: make_sock: could not bind to address 127.0.0.1:{port}",
        "no listening sockets available, shutting down", "AH00015: Unable to open logs")


def test_sockets_are_kept_over_a_restart() -> None:
    first = bind_all([Listener("127.0.0.1", 0)], {}, 5, V24)
    again = bind_all([Listener("127.0.0.1", 0)], first, 5, V24)
    assert first == again
    for one in first.values():
        one.close()


# privileges ---------------------------------------------------------------------------------------
def imports_in_functions(files: list[str]) -> dict[str, str]:
    """What the code in *files* imports inside functions: module -> file."""
    found: dict[str, str] = {}
    for file in files:
        for function in ast.walk(ast.parse(Path(file).read_text())):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                for node in ast.walk(function):
                    if isinstance(node, ast.Import):
                        found.update({alias.name: file for alias in node.names})
                    elif isinstance(node, ast.ImportFrom) and node.module:
                        found[node.module] = file
    return found


@pytest.mark.parametrize("name", ["whimbrel.modules.core", *(f"whimbrel.modules.{f.stem}" for f in sorted((PACKAGE / "modules").glob("mod_*")))])
def test_everything_is_imported_before_privileges_are_dropped(name: str) -> None:
    """A worker that runs as another user may not be able to read the package, or Python itself, any more."""
    code = (
        f"import sys, {name}\n"
        "from whimbrel.server import master, privileges\n"
        "privileges.import_everything()\n"
        "print(*sys.modules)\n"
        "print(*(m.__file__ for n, m in sys.modules.items() if n.startswith('whimbrel.') and m.__file__))")
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    loaded, files = (line.split() for line in done.stdout.splitlines())
    missing = {name: file for name, file in imports_in_functions(files).items() if name not in loaded}
    assert not missing
