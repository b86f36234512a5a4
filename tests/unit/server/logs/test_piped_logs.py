"""Log programs: their arguments, shells and pipes (logs.html#piped)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from whimbrel.config.model import LogSink
from whimbrel.server.logs.piped_logs import PipedLog, words


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("command", "want"),
    [
        ("/bin/p a b", ["/bin/p", "a", "b"]),
        ("/bin/p 'a b' c", ["/bin/p", "a b", "c"]),
        ('/bin/p "a b"', ["/bin/p", "a b"]),
        ("/bin/p $HOME", ["/bin/p", "$HOME"]),
        ("", [""]),
    ],
)
def test_words(command: str, want: list[str]) -> None:
    assert words(command) == want


def test_a_shell_sees_its_own_characters_and_a_program_does_not(tmp_path: Path) -> None:
    """`|$/bin/cat > f` writes the file, `|/bin/cat > f` gets arguments that are no files."""
    by_shell, direct = tmp_path / "shell", tmp_path / "direct"
    first = PipedLog(LogSink(f"/bin/cat > {by_shell}", piped=True, shell=True))
    first.start()
    os.write(first.write_end, b"line\n")
    until(lambda: by_shell.exists() and by_shell.read_bytes() == b"line\n")
    second = PipedLog(LogSink(f"/bin/cat > {direct}", piped=True))
    second.start()
    until(lambda: not second.runs())
    assert not direct.exists()
    for program in (first, second):
        program.close()
    until(lambda: not first.runs())


def test_a_program_that_is_started_again_gets_what_waits(tmp_path: Path) -> None:
    out = tmp_path / "out"
    program = PipedLog(LogSink(f"/usr/bin/head -n 1 > {out}", piped=True, shell=True))
    program.start()
    until(lambda: program.runs())
    os.write(program.write_end, b"first\n")
    until(lambda: not program.runs())
    program.ended()
    os.write(program.write_end, b"second\n")
    program.start()
    until(lambda: not program.runs())
    assert out.read_bytes() == b"second\n"
    program.close()


def test_a_name_without_a_slash_is_a_file_of_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program = PipedLog(LogSink("cat", piped=True))
    with pytest.raises(FileNotFoundError):
        program.start()
    program.close()


@pytest.mark.parametrize(("is_there", "problem"), [(False, FileNotFoundError), (True, PermissionError)])
@pytest.mark.parametrize("shell", [True, False])
def test_a_program_that_cannot_run_says_why(
    tmp_path: Path, is_there: bool, problem: type[OSError], shell: bool
) -> None:
    program = tmp_path / "program"
    if is_there:
        program.write_text("")
        program.chmod(0o644)
    with pytest.raises(problem):
        PipedLog(LogSink(f"{program} x", piped=True, shell=shell)).start()
