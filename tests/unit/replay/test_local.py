"""Replay in several processes and on a cluster: the same report, also when a worker dies."""

from __future__ import annotations

import multiprocessing
import os
import signal
from pathlib import Path

import pytest
from tests.unit.replay.replayed_site import line, report, work_of, write_log

from whimbrel.replay.local import _Pool, run_local
from whimbrel.replay.log_files import pieces_of
from whimbrel.replay.work import Replayer

SIZE = 4000


def lines() -> list[str]:
    targets = ("/closed/x", "/gone/y", "/index.html", "/private/x.html", "/none")
    return [line(f"{targets[n % 5]}", f"10.{n % 4 * 60}.0.{n % 9}") for n in range(600)]


def test_processes_give_the_same_report(tmp_path: Path) -> None:
    log, replayer = write_log(tmp_path, lines()), Replayer(work_of(tmp_path))
    done: list[int] = []
    one = run_local(replayer, pieces_of([log], SIZE), 1, done.append)
    assert sum(done) == os.path.getsize(log)
    assert report(run_local(replayer, pieces_of([log], SIZE), 3, done.append)) == report(one)
    assert one.requests == 600 and len(one.changes) == 3


def test_a_killed_process_is_replaced(tmp_path: Path) -> None:
    log, replayer = write_log(tmp_path, lines()), Replayer(work_of(tmp_path))
    one = run_local(replayer, pieces_of([log], SIZE), 1, lambda _size: None)
    killed: list[int] = []

    def kill_one(_size: int) -> None:
        if not killed:
            child = multiprocessing.active_children()[0]
            killed.append(child.pid or 0)
            child.kill()

    assert report(run_local(replayer, pieces_of([log], SIZE), 2, kill_one)) == report(one)
    assert killed


def test_a_process_that_dies_while_it_has_no_piece_is_replaced(tmp_path: Path) -> None:
    log, replayer = write_log(tmp_path, lines()), Replayer(work_of(tmp_path))
    pool = _Pool(replayer, 1)
    (process,) = pool._workers.values()
    process.kill()
    process.join()
    try:
        found = list(pool.results(pieces_of([log], SIZE)))
    finally:
        pool.close()
    assert sum(tally.requests for _piece, tally in found) == 600


def test_a_cluster_gives_the_same_report_when_a_worker_is_killed(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="whimbrel[cluster] is not installed")
    from whimbrel.replay.cluster import run_cluster

    work = work_of(tmp_path)
    log = write_log(tmp_path, lines())
    one = run_local(Replayer(work), pieces_of([log], SIZE), 1, lambda _size: None)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = list(client.run(os.getpid).values())

        def kill_one(_size: int) -> None:
            if pids:
                os.kill(pids.pop(), signal.SIGKILL)
                pids.clear()

        found = run_cluster(work, pieces_of([log], SIZE), cluster.scheduler_address, kill_one)
    assert pids == [] and report(found) == report(one)
