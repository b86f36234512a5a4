"""A thread that goes on working is found, one that waits is not."""

from __future__ import annotations

import threading
import time

import pytest

from tests.support.busy_threads import SUSPICIOUS, TASKS, BusyThreads, time_of_others


@pytest.mark.skipif(not TASKS.is_dir(), reason="needs /proc, for the states of threads")
def test_a_thread_that_works_is_named() -> None:
    ended = threading.Event()

    def spin() -> None:
        while not ended.is_set():
            pass

    threads, begin = BusyThreads(), time_of_others()
    spinning = threading.Thread(target=spin, name="spinning")
    spinning.start()
    end = time.monotonic() + 60
    while (spent := time_of_others() - begin) < 2 * SUSPICIOUS and time.monotonic() < end:
        time.sleep(0.05)
    found = threads.found()
    ended.set()
    spinning.join()
    assert spent >= SUSPICIOUS and any(place.startswith("spinning: ") for place in found)


def test_threads_that_have_worked_and_wait_are_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.support.busy_threads.SUSPICIOUS", 0.0)
    ended = threading.Event()
    waiting = threading.Thread(target=ended.wait)
    waiting.start()
    found = BusyThreads().found()
    ended.set()
    waiting.join()
    assert found == []
