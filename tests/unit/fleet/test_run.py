"""A fleet: equal servers once, an interrupt in between, a cluster."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest
from tests.support.fleet_tasks import HostileTask, servers
from tests.support.fleet_trees import write_broken, write_server

from whimbrel.fleet.model import FleetReport
from whimbrel.fleet.pool import ServerLimits
from whimbrel.fleet.run import FleetOptions, run_fleet
from whimbrel.fleet.servers import fleet_servers
from whimbrel.fleet.tasks import CheckTask
from whimbrel.upgrade.check.check import Selection
from whimbrel.upgrade.model import UpgradeOptions
from whimbrel.upgrade.source.named_sources import ConfigArguments

CHECK = CheckTask(ConfigArguments(), Selection(), UpgradeOptions(), has_pages=True)


def verdicts(report: FleetReport) -> dict[str, str]:
    return {server.name: server.verdict for server in report.servers}


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    write_server(tmp_path / "a", 1, 6)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    write_server(tmp_path / "c", 2, 6)
    write_broken(tmp_path / "d", "empty")
    return tmp_path


def test_equal_servers_have_one_result_and_one_page(fleet: Path) -> None:
    pages: list[str] = []
    steps: list[tuple[str, int, int]] = []
    report = run_fleet(
        CHECK,
        fleet_servers([str(fleet)]),
        FleetOptions(jobs=1),
        lambda *step: steps.append(step),
        lambda result: pages.append(f"{result.name} {len(result.page) > 1000}"),
    )
    a, b, _c, d = report.servers
    assert verdicts(report) == {"a": "findings", "b": "findings", "c": "findings", "d": "not decided"}
    assert (b.same_as, b.path, b.rules) == ("a", str(fleet / "b"), a.rules)
    assert "no main file of httpd in there" in d.fault
    assert sorted(pages) == ["a True", "c True"]
    assert b.has_page and not b.page and not d.has_page
    assert steps[-1] == ("servers", 4, 4)
    assert (report.exit_code(), report.total, report.is_interrupted) == (1, 4, False)


def test_an_interrupt_leaves_what_was_finished() -> None:
    def interrupt(what: str, done: int, _total: int) -> None:
        if what == "servers" and done == 1:
            raise KeyboardInterrupt

    report = run_fleet(HostileTask(), servers("a", "endless"), FleetOptions(jobs=1), interrupt)
    assert verdicts(report) == {"a": "findings"}
    assert (report.total, report.is_interrupted, report.cut_writes) == (2, True, ())


def test_a_cluster_gives_the_same_results(fleet: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="whimbrel[cluster] is not installed")
    known = fleet_servers([str(fleet)])
    one = run_fleet(CHECK, known, FleetOptions(jobs=1))
    with distributed.LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=None) as cluster:
        found = run_fleet(CHECK, known, FleetOptions(cluster=cluster.scheduler_address))
    assert verdicts(found) == verdicts(one)
    assert [server.rules for server in found.servers] == [server.rules for server in one.servers]


def test_what_a_cluster_loses_or_gives_up_is_not_decided() -> None:
    distributed = pytest.importorskip("distributed", reason="whimbrel[cluster] is not installed")
    import dask

    limits = ServerLimits(seconds=200)  # a busy machine takes long to start a worker for a lost one
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),  # a lost server is not tried again
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        options = FleetOptions(cluster=cluster.scheduler_address, limits=limits)
        report = run_fleet(HostileTask(), servers("a", "killed", "memory", "b"), options)
        faults = {server.name: server.fault for server in report.servers}
        assert faults["a"] == faults["b"] == ""
        assert faults["killed"] == "its worker of the cluster was lost: KilledWorker"
        assert faults["memory"] == "it needs more memory than the worker of the cluster has"
        options = FleetOptions(cluster=cluster.scheduler_address, limits=ServerLimits(seconds=1))
        report = run_fleet(HostileTask(), servers("endless", "c"), options)
        assert [server.fault for server in report.servers] == [
            "given up after 1 seconds",
            "all threads of the cluster are at work on others",
        ]
        for pid in client.run(os.getpid).values():
            os.kill(pid, signal.SIGKILL)  # its thread sleeps
