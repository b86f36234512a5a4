"""The two processes of `whimbrel serve --dialect both`."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support import warm_command

from whimbrel.cli.serve_both import run_both
from whimbrel.testing.ports import free_port

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


def test_a_text_that_2_4_does_not_start_with_names_the_other_ways(tmp_path: Path) -> None:
    """2.4 has no mod_authn_default: its side ends, and so does the command."""
    conf = tmp_path / "conf/httpd.conf"
    conf.parent.mkdir()
    conf.write_text(
        f'ServerRoot "{tmp_path}"\nListen 127.0.0.1:{free_port()}\nServerName a.example\n'
        "LoadModule authn_default_module modules/mod_authn_default.so\n"
    )
    done = warm_command.run(["serve", str(tmp_path), "--dialect", "both"], cwd=tmp_path)
    text = done.stderr.decode()
    assert done.returncode == 1, text
    assert "mod_authn_default" in text and "hint: both versions must start" in text
    assert text.count("hint: both versions") == 1


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
