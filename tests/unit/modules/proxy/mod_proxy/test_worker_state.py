"""State of workers in shared memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.balancers import balancing, cluster

from whimbrel.modules.proxy.mod_proxy.model import WorkerStatus
from whimbrel.modules.proxy.mod_proxy.settings import ProxyServerConfig
from whimbrel.modules.proxy.mod_proxy.worker_state import (
    MAX_PROCESSES,
    NAME,
    ProxyWorkerState,
    WorkerRecord,
    WorkerStates,
    worker_states,
)

CONF = cluster("81 retry=10", "82 status=+I") + "ProxyPass /c/ http://127.0.0.1:83/\n"


def states(root: Path) -> tuple[Any, ProxyServerConfig, WorkerStates]:
    engine, _ = balancing(root, CONF)
    return engine, engine.main.config(ProxyServerConfig), worker_states(engine)


def test_every_worker_has_a_place_the_implicit_ones_too(tmp_path: Path) -> None:
    _, conf, _ = states(tmp_path)
    members = conf.balancers[0].members
    indexes = [worker.index for worker in (conf.forward, conf.reverse, *conf.workers, *members)]
    assert sorted(indexes) == list(range(5))


def test_a_failed_worker_is_tried_again_after_its_time(tmp_path: Path) -> None:
    _, conf, all_states = states(tmp_path)
    state = all_states[conf.balancers[0].members[0]]
    assert state.is_usable and state.set_error(1000.0)
    assert not state.is_usable and state.words == "Init Err "
    assert not state.retry_worker(1010.0) and state.retries == 0
    assert state.retry_worker(1010.5) and state.is_usable and state.retries == 1


def test_workers_that_ignore_errors_have_none(tmp_path: Path) -> None:
    _, conf, all_states = states(tmp_path)
    assert not all_states[conf.balancers[0].members[1]].set_error(1000.0)
    assert not all_states[conf.reverse].set_error(1000.0)


def test_a_stopped_worker_is_not_tried(tmp_path: Path) -> None:
    _, conf, all_states = states(tmp_path)
    state = all_states[conf.workers[0]]
    state.set_error(0.0)
    state.set_status(WorkerStatus.STOPPED, True)
    assert not state.retry_worker(1e9)


def test_counters_of_processes_add_up_and_no_increment_is_lost(tmp_path: Path) -> None:
    engine, conf, first = states(tmp_path)
    second = WorkerStates(engine.runtime.segment(NAME), 1)
    worker = conf.workers[0]
    for each in (first, second, first):
        each[worker].begin()
        each[worker].elect()
        each[worker].count(10, 20)
    assert first[worker].totals() == second[worker].totals() == (3, 3, 30, 60)
    second[worker].end()
    second[worker].end()
    assert first[worker].totals()[0] == 2


def test_a_new_process_forgets_the_requests_of_the_one_whose_place_it_has(tmp_path: Path) -> None:
    engine, conf, first = states(tmp_path)
    worker = conf.workers[0]
    first[worker].begin()
    first[worker].elect()
    successor = WorkerStates(engine.runtime.segment(NAME), 0)
    assert successor[worker].totals()[:2] == (0, 1)


def test_traffic_can_be_counted_anew(tmp_path: Path) -> None:
    _, conf, all_states = states(tmp_path)
    state = all_states[conf.workers[0]]
    state.count(10, 20)
    state.reset_traffic()
    state.count(1, 2)
    assert state.totals()[2:] == (1, 2)


def test_the_memory_has_a_fixed_size(tmp_path: Path) -> None:
    engine, _, all_states = states(tmp_path)
    size = len(engine.runtime.segment(NAME))
    assert ProxyWorkerState.SIZE == WorkerRecord.SIZE < 800
    assert size < 16 + all_states.count * (800 + MAX_PROCESSES * 32) + 800
