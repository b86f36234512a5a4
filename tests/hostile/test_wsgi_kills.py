"""Short form of the measure, with more faults."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.hostile import wsgi_kills
from tests.hostile.measure import Budget


def test_no_request_is_lost_but_in_ended_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wsgi_kills, "KILL_INTERVAL", 1.0)
    monkeypatch.setattr(wsgi_kills, "FAULTS_EACH", 50)
    monkeypatch.setattr(wsgi_kills, "PAUSE", 0.02)
    result = wsgi_kills.measure(Budget(1, 12))
    if result.skipped:
        pytest.skip(result.skipped)
    assert not result.failures
    assert int(result.figures["killed or stopped"]) > 0
    assert int(result.figures["requests"]) > 100


@pytest.mark.skipif(not wsgi_kills.PYTHON.exists(), reason="no /usr/bin/python3")
def test_a_thread_is_no_process_of_an_application() -> None:
    code = "import threading, sys; threading.Thread(target=sys.stdin.read).start(); print(flush=True)"
    with subprocess.Popen(
        [wsgi_kills.PYTHON, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        numbers = [int(each.name) for each in Path(f"/proc/{process.pid}/task").iterdir()]
        assert len(numbers) == 2
        assert [each for each in numbers if wsgi_kills.is_alive(each, process.pid)] == [process.pid]
        assert not wsgi_kills.is_alive(process.pid, os.getpid())
        process.communicate()
    assert not wsgi_kills.is_alive(process.pid, process.pid)
