"""A fleet gives each server the answers that the work on this server alone gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.fleet_trees import write_broken
from tests.support.samples import amount, seed_of_the_run
from tests.support.varied_trees import write_varied_server
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.fleet.model import ServerResult
from whimbrel.fleet.run import FleetOptions, run_fleet
from whimbrel.fleet.servers import FleetServer, fleet_pairs, fleet_servers
from whimbrel.fleet.tasks import CheckTask, FleetTask, UpgradeTask, VerifyTask, work
from whimbrel.upgrade.check.check import Selection
from whimbrel.upgrade.model import UpgradeOptions
from whimbrel.upgrade.source.named_sources import ConfigArguments

SEED = seed_of_the_run()
"""Trees are others each night."""
UPGRADE = UpgradeTask(ConfigArguments(), Selection(), UpgradeOptions(), is_verified=bool(amount(0, 1)))
TASKS = [CheckTask(ConfigArguments(), Selection(), UpgradeOptions()), UPGRADE]


def without_time(result: ServerResult) -> ServerResult:
    return replace(result, seconds=0.0, same_as="")


def require_same(task: FleetTask, servers: list[FleetServer]) -> list[ServerResult]:
    """Return the results of the fleet, which one process has; the single runs are in the opposite order."""
    print(f"seed {SEED}")
    alone = [without_time(work(task, server)) for server in reversed(servers)]
    report = run_fleet(task, servers, FleetOptions(jobs=1))
    assert list(map(without_time, report.servers)) == alone[::-1]
    return report.servers


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("fleet")
    for name, seed in (("a", SEED), ("b", SEED + 1), ("c", SEED), ("e", SEED + 2)):
        write_varied_server(base / name, seed, files=amount(3, 16), hosts=2)
    write_broken(base / "d", "unclosed")
    return base


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.command)
def test_what_a_server_lacks_does_not_change_others(fleet: Path, task: FleetTask) -> None:
    found = require_same(task, fleet_servers([str(fleet)]))
    assert [server.same_as for server in found] == ["", "", "a", "", ""]
    assert [bool(server.rules) for server in found] == [True, True, True, False, True]


def test_pairs_have_the_verdicts_of_single_runs(fleet: Path, tmp_path: Path) -> None:
    upgraded = tmp_path / "upgraded"
    servers = [server for server in fleet_servers([str(fleet)]) if server.name != "d"]
    written = run_fleet(replace(UPGRADE, out=upgraded), servers, FleetOptions(jobs=1))
    assert all(server.changed for server in written.servers)
    pairs = fleet_pairs(servers, fleet_servers([str(upgraded)]))
    found = require_same(VerifyTask(ConfigArguments(), ("2.2", "2.4"), amount(30, 100)), pairs)
    assert [server.name for server in found] == ["a", "b", "c", "e"]
    assert not any(server.fault for server in found)
