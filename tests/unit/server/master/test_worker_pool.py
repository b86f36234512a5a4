"""Failing forks, exhausted slots, messages, heartbeats, deaths of workers."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whimbrel.server.master import worker_pool as processes
from whimbrel.server.master.messages import EVENT
from whimbrel.server.master.worker_pool import Child, FatalChild, WorkerPool, is_stopped, pipe
from whimbrel.server.worker.scoreboard import SharedScoreboard
from whimbrel.server.worker.worker import FATAL, HEARTBEAT


class RecordingGeneration:
    """A generation that records its log."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []
        self.life = SimpleNamespace(generation=3)
        self.words = EVENT

        self.ended: list[int] = []
        self.program_ended = self.ended.append

    def log(self, level: str, text: str, *, code: str = "", module: str = "core", cause: str = "") -> None:
        self.lines.append((level, "".join(f"{part}: " for part in (cause, code) if part) + text))


def test_a_failed_fork_is_logged_and_repeated_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """httpd 2.4: AH00159 fork: Unable to fork new process, after the reason, and a pause."""

    def refuse() -> int:
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(os, "fork", refuse)
    children, told = WorkerPool(SharedScoreboard(4)), RecordingGeneration()
    generation: Any = told
    children.spawn_missing(generation, 1)
    assert told.lines == [
        ("error", "(11)Resource temporarily unavailable: AH00159: fork: Unable to fork new process")
    ]
    assert children.respawn_at is not None and children.respawn_at > time.monotonic()
    assert children.running == {}


def test_when_every_slot_is_taken_the_oldest_has_to_go() -> None:
    children, told = WorkerPool(SharedScoreboard(2)), RecordingGeneration()
    generation: Any = told
    sleepers = [subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) for _ in range(2)]
    try:
        for slot, one in enumerate(sleepers):
            children.running[one.pid] = Child(one.pid, slot, slot, float(slot))
        children.spawn_missing(generation, 1)
        assert sleepers[0].wait(10) == -signal.SIGTERM
        assert sleepers[1].poll() is None
        assert told.lines == [
            ("error", "AH03490: scoreboard is full, not at MaxRequestWorkers.Increase ServerLimit.")
        ]
    finally:
        for one in sleepers:
            one.kill()
            one.wait()


@contextmanager
def a_child(
    children: WorkerPool, program: str, slot: int = 0, **attributes: Any
) -> Iterator[tuple[Child, int]]:
    """A process in place of a worker, and the writing end of its pipe; ended with the test."""
    ours, theirs = pipe()
    process = subprocess.Popen([sys.executable, "-c", program])
    one = Child(process.pid, slot, 3, time.monotonic() - 60, ours, **attributes)
    children.running[process.pid] = one
    try:
        yield one, theirs
    finally:
        process.kill()
        process.wait()
        os.close(theirs)


def reaped(children: WorkerPool, told: Any, pid: int) -> None:
    end = time.monotonic() + 20
    while pid in children.running:
        children.reap(told)
        assert time.monotonic() < end
        time.sleep(0.01)


SLEEP = "import time; time.sleep(60)"


@settings(max_examples=40, deadline=None)
@given(st.binary(min_size=1, max_size=3000))
def test_no_message_stops_the_master(data: bytes) -> None:
    """The line ``busy \xb2`` once raised ValueError."""
    children = WorkerPool(SharedScoreboard(4))
    ours, theirs = pipe()
    one = children.running[1] = Child(1, 0, 3, 0.0, ours)
    os.write(theirs, data)
    assert children.listen(0.0) == (b"b" in data)
    assert (one.is_ready, one.leaving) == (b"." in data, b"r" in data)
    os.close(theirs)
    assert children.listen(0.0) == 0
    assert one.control == -1
    for handle in (children.wake, children.wake_out, children.lifeline, children._lifeline_out):
        os.close(handle)


def test_a_worker_speaks_for_itself_alone() -> None:
    children = WorkerPool(SharedScoreboard(4))
    pipes = [pipe(), pipe()]
    for pid, (ours, _) in enumerate(pipes):
        children.running[pid] = Child(pid, pid, 3, 0.0, ours)
    os.write(pipes[0][1], b"r")
    children.listen(0.0)
    assert [one.leaving for one in children.running.values()] == [True, False]


def test_more_descriptors_than_select_knows() -> None:
    children = WorkerPool(SharedScoreboard(4))
    ours, theirs = pipe()
    high = os.dup2(ours, 2000)
    children.running[1] = Child(1, 0, 3, 0.0, high)
    os.write(theirs, HEARTBEAT)
    try:
        children.listen(0.0)
        assert children.running[1].is_ready
    finally:
        os.close(high)


def test_a_worker_that_is_silent_for_too_long_is_replaced(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """SIGABRT first, for its traceback; then SIGKILL."""
    monkeypatch.setattr(processes, "WATCH_PERIOD", 0.02)
    monkeypatch.setattr(processes, "STALL_TIMEOUT", 0.05)
    children, told = WorkerPool(SharedScoreboard(4)), RecordingGeneration()
    generation: Any = told
    is_ready = tmp_path / "ready"
    stubborn = (
        "import signal, time; signal.signal(signal.SIGABRT, signal.SIG_IGN); "
        f"open({str(is_ready)!r}, 'w').close(); time.sleep(60)"
    )
    with a_child(children, SLEEP) as (one, _), a_child(children, stubborn, 1) as (other, _):
        end = time.monotonic() + 20
        while not is_ready.exists():  # until it ignores the signal
            assert time.monotonic() < end
            time.sleep(0.01)
        for _ in range(8):
            children.watch(generation)
            time.sleep(0.03)
        reaped(children, told, one.pid)
        reaped(children, told, other.pid)
    assert (
        len(
            [
                text
                for level, text in told.lines
                if level == "error" and "has not turned its event loop for 0 seconds, replacing it" in text
            ]
        )
        == 2
    )
    assert ("notice", f"AH00052: child pid {one.pid} exit signal Aborted (6)") in told.lines
    assert ("notice", f"AH00052: child pid {other.pid} exit signal Killed (9)") in told.lines


def test_heartbeats_and_debuggers_keep_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "WATCH_PERIOD", 0.02)
    monkeypatch.setattr(processes, "STALL_TIMEOUT", 0.05)
    children, told = WorkerPool(SharedScoreboard(4)), RecordingGeneration()
    generation: Any = told
    with a_child(children, SLEEP) as (_, control), a_child(children, SLEEP, 1) as (stopped, _):
        os.kill(stopped.pid, signal.SIGSTOP)
        while not is_stopped(stopped.pid):
            time.sleep(0.01)
        for _ in range(10):
            os.write(control, HEARTBEAT)
            children.listen(0.0)
            children.watch(generation)
            time.sleep(0.03)
        children.reap(generation)
        assert len(children.running) == 2
        assert told.lines == []


def test_a_master_that_was_stopped_itself_replaces_no_worker() -> None:
    children, told = WorkerPool(SharedScoreboard(4)), RecordingGeneration()
    generation: Any = told
    children.running[1] = Child(1, 0, 3, 0.0)
    children._watched -= 3600.0
    children.watch(generation)
    assert children.running[1].silent == 2 * processes.WATCH_PERIOD
    assert told.lines == []


@pytest.mark.parametrize(
    ("ready", "born_in", "fatal"), [(False, 3, True), (True, 3, False), (False, 2, False)]
)
def test_the_fatal_status_counts_only_from_a_worker_that_could_not_begin(
    ready: bool, born_in: int, fatal: bool
) -> None:
    """httpd: nor from an earlier generation. A worker that has served clients may be compromised."""
    children, told = WorkerPool(SharedScoreboard(4)), RecordingGeneration()
    generation: Any = told
    with a_child(children, f"raise SystemExit({FATAL})", is_ready=ready) as (one, _):
        one.generation = born_in
        if fatal:
            with pytest.raises(FatalChild):
                reaped(children, told, one.pid)
            assert told.lines == [
                ("alert", f"AH00050: Child {one.pid} returned a Fatal error... Apache is exiting!")
            ]
        else:
            reaped(children, told, one.pid)
            assert told.lines == []
    assert generation.ended == []


@pytest.mark.parametrize("status", [0, 1])
def test_workers_that_die_at_once_are_replaced_with_a_pause(status: int) -> None:
    children, told = WorkerPool(SharedScoreboard(4)), RecordingGeneration()
    with a_child(children, f"raise SystemExit({status})") as (one, _):
        one.born = time.monotonic()
        reaped(children, told, one.pid)
    assert children.respawn_at is not None and children.respawn_at > time.monotonic()


def test_a_worker_that_corrupted_its_slot_is_reaped_with_a_log_line() -> None:
    board = SharedScoreboard(4)
    children, told = WorkerPool(board), RecordingGeneration()
    with a_child(children, "pass", 2) as (one, _):
        board._memory[2 * 16 : 3 * 16] = b"\xfe" * 16
        reaped(children, told, one.pid)
    assert told.lines == [
        ("error", f"child pid {one.pid} left an unreadable scoreboard slot, its counts are lost")
    ]
    assert board.read(2) is None


def test_an_end_that_waits_in_vain_is_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "KILL_AFTER", 0.1)
    children, told = WorkerPool(SharedScoreboard(4)), RecordingGeneration()
    generation: Any = told
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    with a_child(children, deaf) as (one, _):
        time.sleep(0.5)
        children.terminate(generation)
    assert told.lines[0] == (
        "error",
        f"AH00046: child process {one.pid} still did not exit, sending a SIGKILL",
    )
    assert children.running == {}


def test_other_processes_are_the_logs_affair() -> None:
    children, told = WorkerPool(SharedScoreboard(4)), RecordingGeneration()
    generation: Any = told
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    end = time.monotonic() + 20
    while told.ended != [process.pid] and time.monotonic() < end:
        children.reap(generation)
        time.sleep(0.01)
    assert told.ended == [process.pid]
    process.returncode = 0
