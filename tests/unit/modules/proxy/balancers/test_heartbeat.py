"""The method heartbeat."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.balancers import balancing, cluster
from tests.support.client import fetch

REPORTS = "127.0.0.1 &ready=8&busy=1&lastseen=2&port=80\n"


def bodies(root: Path, reports: str | None) -> tuple[Any, set[str]]:
    conf = "HeartbeatMaxServers 0\n" + cluster("81", settings="lbmethod=heartbeat")
    engine, _ = balancing(root, conf, more="lbmethod_heartbeat heartmonitor")
    if reports is not None:
        (root / "logs" / "hb.dat").write_text(reports)
    return engine, {fetch(engine, "/b/x").body for _ in range(3)}


def test_a_member_that_reports_idle_workers_is_chosen(tmp_path: Path) -> None:
    assert bodies(tmp_path, REPORTS)[1] == {"81"}


def test_old_reports_and_busy_members_do_not_count(tmp_path: Path) -> None:
    assert "81" not in bodies(tmp_path, REPORTS.replace("lastseen=2", "lastseen=12"))[1]
    assert "81" not in bodies(tmp_path / "b", REPORTS.replace("ready=8", "ready=0"))[1]


def test_a_missing_file_is_logged(tmp_path: Path) -> None:
    engine, found = bodies(tmp_path, None)
    text = "".join(line.decode() for lines in engine.runtime.logs.values() for line in lines)
    assert "81" not in found and "AH01213: lb_heartbeat: Unable to read heartbeats at " in text
