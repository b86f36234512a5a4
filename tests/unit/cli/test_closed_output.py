"""A reader of standard output that ends early, as ``head`` does, is no error."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize("words", [("explain", "--list"), ("schema", "check"), ("explain", "--json", "C17")])
def test_a_closed_pipe_is_no_error(words: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    program = "from whimbrel.cli.entry import main; main()"
    try:
        done = subprocess.run(
            [sys.executable, "-c", program, *words], stdout=writer, stderr=subprocess.PIPE, check=False
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_an_interrupt_during_the_imports_prints_no_traceback() -> None:
    """The signal comes before the command runs: the import of its modules raises KeyboardInterrupt."""
    program = (
        "import os, signal, sys\n"
        "from whimbrel.cli.entry import main\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'whimbrel.cli.main':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program, "check"], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (130, b"interrupted: no file was changed\n")
