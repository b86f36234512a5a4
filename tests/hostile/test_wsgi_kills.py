"""Short form of the measure, with more faults."""

from __future__ import annotations

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
