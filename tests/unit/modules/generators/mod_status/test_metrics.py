"""SetHandler whimbrel-metrics: names and labels as apache_exporter has them, values as ?auto has them."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.support.client import fetch
from tests.support.engine import build_engine

from whimbrel.base.extras import pip
from whimbrel.engine.engine import Engine
from whimbrel.engine.runtime import NoScoreboard, ScoreboardWorker

CONF = """<Location /metrics>
SetHandler whimbrel-metrics
</Location>
<Location /server-status>
SetHandler server-status
</Location>
"""
NEEDS_CLIENT = pytest.mark.skipif(
    find_spec("prometheus_client") is None, reason="the package prometheus-client is not installed"
)


class Board(NoScoreboard):
    """A scoreboard with workers in some states."""

    def workers(self) -> list[ScoreboardWorker]:
        """Return two processes."""
        numbers = {"writing": 2, "keep_alive": 1, "closing": 0, "wait_io": 3, "accepting": True}
        return [
            ScoreboardWorker(
                [],
                process={"slot": slot, "pid": 70 + slot, "stopping": slot, "connections": 6, **numbers},
                letters=letters,
            )
            for slot, letters in enumerate(("W_KR", "G__."))
        ]

    def totals(self) -> dict[str, object]:
        """Return the sums."""
        return {
            "started": 0,
            "accesses": 1234,
            "bytes": 5_000_000,
            "duration": 777,
            "cpu": (1.5, 0.25, 0.5, 0.25),
            "slots": 10,
            "generation": 3,
            "mpm": "event",
        }


def samples(serving: Engine) -> dict[str, float]:
    """Return the values of a response by name and labels, as the package reads them."""
    from prometheus_client.parser import text_string_to_metric_families

    reply = fetch(serving, "/metrics")
    assert reply.status == 200
    assert reply.get("Content-Type") == "text/plain; version=0.0.4; charset=utf-8"
    text = reply.body if isinstance(reply.body, str) else reply.body.decode()
    return {
        f"{sample.name}{''.join(f'[{value}]' for value in sample.labels.values())}": sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@NEEDS_CLIENT
@pytest.mark.parametrize("version", ["2.4", "2.2"])
def test_values_and_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    serving = build_engine(tmp_path, CONF + "ExtendedStatus On\n", version=version)
    monkeypatch.setattr(serving.runtime, "scoreboard", Board())
    found = samples(serving)
    assert found["apache_up"] == 1
    assert found["apache_accesses_total"] == 1234
    assert found["apache_sent_kilobytes_total"] == 5_000_000 // 1024
    assert found["apache_duration_ms_total"] == 777
    assert found["apache_cpu_time_ms_total[user]"] == 2000
    assert found["apache_cpu_time_ms_total[system]"] == 500
    assert found["apache_version"] == (2.04071 if version == "2.4" else 2.02034)
    assert found["apache_generation[mpm]"] == 3
    assert found["apache_processes[all]"] == 2 and found["apache_processes[stopping]"] == 1
    assert found["apache_connections[total]"] == 12 and found["apache_connections[keepalive]"] == 2
    states = {name: value for name, value in found.items() if name.startswith("apache_scoreboard") and value}
    assert states == {
        "apache_scoreboard[idle]": 3,
        "apache_scoreboard[reply]": 1,
        "apache_scoreboard[keepalive]": 1,
        "apache_scoreboard[read]": 1,
        "apache_scoreboard[graceful_stop]": 1,
        "apache_scoreboard[open_slot]": 3,
    }
    shown = fetch(serving, "/server-status?auto").body.splitlines()
    auto = dict(line.split(": ", 1) for line in shown if ": " in line)
    (info,) = [name for name in found if name.startswith("apache_info[")]
    assert found[info] == 1 and info.startswith(f"apache_info[event][Apache/{version}.")
    assert version == "2.2" or info == f"apache_info[{auto['ServerMPM']}][{auto['ServerVersion']}]"
    assert found["apache_workers[busy]"] == float(auto["BusyWorkers"])
    assert found["apache_workers[idle]"] == float(auto["IdleWorkers"])
    assert found["apache_uptime_seconds_total"] == pytest.approx(float(auto["Uptime"]), abs=2)


@NEEDS_CLIENT
def test_access_is_that_of_the_section(tmp_path: Path) -> None:
    """As server-status: the lines of the section decide."""
    denied = CONF.replace(
        "SetHandler whimbrel-metrics\n", "SetHandler whimbrel-metrics\nRequire all denied\n"
    )
    assert fetch(build_engine(tmp_path, denied), "/metrics").status == 403


@NEEDS_CLIENT
def test_without_extended_status_there_are_no_requests(tmp_path: Path) -> None:
    """?auto leaves them out too."""
    found = samples(build_engine(tmp_path, CONF + "ExtendedStatus Off\n"))
    assert "apache_accesses_total" not in found and found["apache_up"] == 1
    assert found["apache_workers[busy]"] == 1


def test_a_missing_package_is_an_error_that_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "whimbrel.modules.generators.mod_status.metrics", raising=False)
    for name in ("prometheus_client", "prometheus_client.core"):
        monkeypatch.setitem(sys.modules, name, None)
    serving = build_engine(tmp_path, CONF)
    assert fetch(serving, "/metrics").status == 500
    written = b"".join(piece for pieces in serving.runtime.logs.values() for piece in pieces).decode()  # type: ignore[attr-defined]
    sentence = "SetHandler whimbrel-metrics: the package prometheus-client is not installed"
    assert f"{sentence}: {pip()} install 'whimbrel[metrics]'" in written


def test_other_methods_and_names_are_left_to_others(tmp_path: Path) -> None:
    serving = build_engine(tmp_path, CONF + "<Location /other>\nSetHandler Whimbrel-Metrics-2\n</Location>\n")
    assert fetch(serving, "/metrics", method="POST").status in (404, 405)
    assert fetch(serving, "/other").status == 404
