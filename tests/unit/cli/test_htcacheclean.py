"""htcacheclean beside httpd's: what it deletes, its PID file, and how it goes into the background."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

OURS = [sys.executable, "-c", "from whimbrel.cli.entry import main; main()", "htcacheclean"]
PROGRAMS = [pytest.param(OURS, id="whimbrel")]
if shutil.which("htcacheclean"):
    PROGRAMS.append(pytest.param(["htcacheclean"], id="httpd"))
HEADERS = {
    "garbage.header": b"\xff" * 300,
    "other.header": b"\x03\0\0\0",
    "empty.header": b"",
    "short.header": b"ab",
    "cut.header": b"\x06\0\0\0",
    "zeros.header": b"\x06\0\0\0" + bytes(200),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_headers_of_another_format_are_deleted_at_once(program: list[str], tmp_path: Path) -> None:
    """A header that is being written has no format yet, and stays."""
    for name, data in HEADERS.items():
        (tmp_path / name).write_bytes(data)
    subprocess.run([*program, "-p", tmp_path, "-l", "1M"], check=True, timeout=60)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["cut.header", "empty.header", "short.header", "zeros.header"]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("options", [["-l", "1M"], ["-a"], ["-A"], ["http://x/"]])
def test_a_fifo_does_not_hold_it(program: list[str], options: list[str], tmp_path: Path) -> None:
    if program[0] == "htcacheclean" and options != ["-l", "1M"]:
        pytest.skip("httpd's waits for a writer when it lists")
    (tmp_path / "a").mkdir()
    os.mkfifo(tmp_path / "a/fifo.header")
    command = [*program, "-p", tmp_path, *options]
    subprocess.run(command, check=False, timeout=60, capture_output=True)
    assert (tmp_path / "a/fifo.header").exists()


def test_in_the_background_it_holds_nothing_of_its_caller(tmp_path: Path) -> None:
    """Its output is a pipe, whose end a caller waits for; a linked PID file is replaced, not written
    through.
    """
    (tmp_path / "cache").mkdir()
    (tmp_path / "victim").write_text("victim")
    (tmp_path / "pid").symlink_to("victim")
    command = [*OURS, "-p", tmp_path / "cache", "-d", "1", "-l", "1M", "-P", tmp_path / "pid"]
    subprocess.run(command, check=True, timeout=60, capture_output=True)
    end = time.monotonic() + 30
    while (tmp_path / "pid").is_symlink() and time.monotonic() < end:
        time.sleep(0.02)
    pid = int((tmp_path / "pid").read_text())
    try:
        assert (tmp_path / "victim").read_text() == "victim"
        assert {os.readlink(f"/proc/{pid}/fd/{handle}") for handle in range(3)} == {"/dev/null"}
        assert os.readlink(f"/proc/{pid}/cwd") == "/"
    finally:
        os.kill(pid, signal.SIGTERM)
