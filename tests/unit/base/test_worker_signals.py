"""Processes that share the work of a command leave a Ctrl-C to the first one."""

from __future__ import annotations

import signal
import subprocess
import sys

from whimbrel.base.worker_signals import without_interrupts

CHILD = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))"


def test_a_child_has_the_signal_blocked_and_this_process_has_not() -> None:
    with without_interrupts():
        found = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, check=True)
    assert found.stdout == "True\n"
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
