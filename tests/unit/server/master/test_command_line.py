"""The command line as ps, pgrep and pidof read it: of a script, of its children, and where it stays."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="no /proc/self/mem here")

SCRIPT = """#!{python}
import os, sys
from whimbrel.server.master.command_line import show_command_line
show_command_line({words})
if "-fork" in sys.argv and os.fork():
    os.wait()
    sys.exit()
sys.stdout.buffer.write(open("/proc/self/cmdline", "rb").read() + open("/proc/self/comm", "rb").read())
"""


def run(directory: Path, *words: str, given: str = "sys.argv") -> list[bytes]:
    """Run a script through a link of the name apache2; return its command line and name."""
    script = directory / "script"
    script.write_text(SCRIPT.format(python=sys.executable, words=given))
    script.chmod(0o755)
    link = directory / "apache2"
    link.symlink_to(script)
    done = subprocess.run([str(link), *words], capture_output=True, check=True)
    arguments, _, name = done.stdout.rpartition(b"\0")
    return [*arguments.rstrip(b"\0").split(b"\0"), name.strip()]


@pytest.mark.parametrize("words", [("-k", "start"), ("-k", "start", "-fork"), (), ("-c", "Define x\xe9 y")])
def test_the_program_as_it_was_called_comes_first(tmp_path: Path, words: tuple[str, ...]) -> None:
    expected = [str(tmp_path / "apache2"), *words, "apache2"]
    assert run(tmp_path, *words) == [word.encode() for word in expected]


def test_other_words_change_nothing(tmp_path: Path) -> None:
    found = run(tmp_path, "-k", "start", given="['/usr/sbin/apache2', '-k', 'stop']")
    assert found[:2] == [sys.executable.encode(), str(tmp_path / "apache2").encode()]


def test_a_process_without_a_script_keeps_its_command_line() -> None:
    code = (
        "import sys; from whimbrel.server.master.command_line import show_command_line\n"
        "show_command_line(sys.argv); print(open('/proc/self/cmdline').read().split(chr(0))[:2])"
    )
    command = [sys.executable, "-c", code, "-k", "start"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"{[sys.executable, '-c']}\n"
