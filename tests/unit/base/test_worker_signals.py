"""Processes that share the work of a command leave a Ctrl-C to the first one."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from whimbrel.base.worker_signals import without_interrupts

CHILD = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))"


def test_a_child_has_the_signal_blocked_and_this_process_has_not() -> None:
    with without_interrupts():
        found = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, check=True)
    assert found.stdout == "True\n"
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


FIRST = """
import signal
from multiprocessing import get_context
from whimbrel.base.worker_signals import without_interrupts

def is_blocked(answer):
    answer.send(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))

if __name__ == "__main__":
    for _number in range(2):
        mine, theirs = get_context("spawn").Pipe()
        with without_interrupts():
            get_context("spawn").Process(target=is_blocked, args=(theirs,)).start()
        print(mine.recv())
"""


def test_the_first_spawned_process_has_it_blocked_too(tmp_path: Path) -> None:
    """With the first one multiprocessing starts its tracker, and unblocks the signal."""
    (tmp_path / "first.py").write_text(FIRST)
    found = subprocess.run(
        [sys.executable, str(tmp_path / "first.py")], capture_output=True, text=True, check=True
    )
    assert found.stdout == "True\nTrue\n"
