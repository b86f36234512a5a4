"""The two processes of `whimbrel serve --dialect both`."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from whimbrel.cli.serve_both import run_both

HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Restore the handlers of signals, which belong to the process of the command."""
    before = {number: signal.getsignal(number) for number in HANDLED}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_the_worst_status_counts() -> None:
    assert run_both(lambda dialect: 3 if dialect == "2.2" else 0) == 3


def test_a_killed_server_is_a_failure_with_its_reason(capfd: pytest.CaptureFixture[str]) -> None:
    def serve(dialect: str) -> int:
        if dialect == "2.4":
            os.kill(os.getpid(), signal.SIGKILL)
        signal.pause()  # until the command ends it
        return 0

    assert run_both(serve) == 1
    assert capfd.readouterr().err == "whimbrel serve: the server of 2.4 was ended by signal 9\n"


def test_a_hang_up_reaches_both() -> None:
    """It ends neither server, and does not leave them without the command."""
    parent = os.getpid()

    def serve(dialect: str) -> int:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
        while True:  # until the command handles signals
            if dialect == "2.4":
                os.kill(parent, signal.SIGHUP)
            if signal.sigtimedwait({signal.SIGHUP}, 0.05) is not None:
                return 0

    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    assert run_both(serve) == 0
