"""Several threads of a process: which one serves a request, and when."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.wsgi_process import RunningProcess, Wire

from whimbrel.modules.wsgi.mod_wsgi_process.dispatcher import PARALLEL_TICKS, active_time
from whimbrel.modules.wsgi.mod_wsgi_process.records import CLOSING, ClientGone

THREADS = 3
SCRIPT = """
import threading
import time
HELD = threading.Event()
BEGUN = threading.Semaphore(0)
def application(environ, start_response):
    query = environ["QUERY_STRING"]
    if query.startswith("hold"):
        BEGUN.release()
        HELD.wait(10)
    elif query.startswith("sleep"):
        time.sleep(float(query[5:].partition(" ")[0]))
    elif query.startswith("burn"):
        end = time.monotonic() + float(query[4:].partition(" ")[0])
        while time.monotonic() < end:
            pass
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [query.encode()]
"""


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningProcess]:
    """Yield a process of `THREADS` threads."""
    found = RunningProcess(tmp_path, monkeypatch, SCRIPT, THREADS)
    found.start()
    yield found
    found.process.modules[str(found.script)].__dict__["HELD"].set()
    found.stop()


def module(running: RunningProcess) -> dict[str, threading.Event | threading.Semaphore]:
    """Return the names of the script."""
    return running.process.modules[str(running.script)].__dict__


def begun(running: RunningProcess) -> None:
    """Wait until one more request is held."""
    semaphore = module(running)["BEGUN"]
    assert isinstance(semaphore, threading.Semaphore)
    assert semaphore.acquire(timeout=10)


def become_idle(running: RunningProcess, count: int) -> None:
    """Wait until *count* connections are idle: a thread leaves one after its client has the answer."""
    end = time.monotonic() + 10
    while len(running.process.dispatcher._idle) != count:
        assert time.monotonic() < end
        time.sleep(0.001)


def test_a_request_does_not_wait_for_one_that_waits(running: RunningProcess) -> None:
    first = Wire(running.path)
    assert running.ask(first, "a") == (b"a", True)
    first.send(running.script, "hold")
    begun(running)
    second = Wire(running.path)
    assert running.ask(second, "b") == (b"b", True)
    third = Wire(running.path)
    third.send(running.script, "hold")
    begun(running)
    assert running.ask(second, "c") == (b"c", True)


def test_a_request_does_not_wait_for_one_that_computes(running: RunningProcess) -> None:
    first = Wire(running.path)
    second = Wire(running.path)
    assert running.ask(first, "a") == (b"a", True)
    assert running.ask(second, "b") == (b"b", True)
    first.send(running.script, "burn0.5")
    start = time.monotonic()
    assert running.ask(second, "c") == (b"c", True)
    assert time.monotonic() - start < 0.4
    assert first.answer() == (b"burn0.5", True)


def test_each_request_has_a_thread_where_requests_wait_for_others(running: RunningProcess) -> None:
    wires = [Wire(running.path) for _ in range(THREADS)]
    for wire in wires:
        running.ask(wire)
    for _ in range(3):
        for wire in wires:
            wire.send(running.script, "sleep0.05")
        for wire in wires:
            wire.answer()
    assert 0 < running.process.dispatcher._parallel_ticks <= PARALLEL_TICKS


def test_quick_requests_need_one_thread(running: RunningProcess) -> None:
    """On a busy machine a thread may lose the processor in a request; others take a part of that round."""
    wires = [Wire(running.path) for _ in range(THREADS)]
    shares = []
    for _ in range(10):
        before = [thread.requests for thread in running.threads]
        for _ in range(60):
            for wire in wires:
                wire.send(running.script, "x")
            for wire in wires:
                assert wire.answer() == (b"x", True)
        served = [thread.requests - count for thread, count in zip(running.threads, before, strict=True)]
        shares.append(max(served) / sum(served))
    assert max(shares) > 0.6


def test_the_connection_that_is_idle_for_longest_is_given_up(running: RunningProcess) -> None:
    wires = [Wire(running.path) for _ in range(THREADS)]
    become_idle(running, THREADS)  # without a request
    for number in (1, 0, 2):
        running.ask(wires[number])
        become_idle(running, THREADS)
    fourth = Wire(running.path)
    assert running.ask(fourth, "d") == (b"d", True)
    assert wires[1].channel.next_record() == (CLOSING, b"")
    for number in (0, 2):
        assert running.ask(wires[number], "e") == (b"e", True)


def test_no_connection_is_taken_while_all_threads_have_a_request(running: RunningProcess) -> None:
    wires = [Wire(running.path) for _ in range(THREADS)]
    running.ask(wires[0])
    for wire in wires:
        wire.send(running.script, "hold")
        begun(running)
    other = Wire(running.path)
    other.send(running.script, "late")
    time.sleep(0.05)
    assert len(running.process.dispatcher._channels) == THREADS
    event = module(running)["HELD"]
    assert isinstance(event, threading.Event)
    event.set()
    assert other.answer() == (b"late", True)
    assert [wire.answer()[0] for wire in wires] == [b"hold"] * THREADS


def test_the_guard_sleeps_while_it_cannot_help(running: RunningProcess) -> None:
    """With a request in each thread, a check every few milliseconds would go on as long as they do."""
    wires = [Wire(running.path) for _ in range(THREADS)]
    running.ask(wires[0])
    for count, wire in enumerate(wires, 1):
        wire.send(running.script, "hold")
        begun(running)
        end = time.monotonic() + 10
        while not running.process.dispatcher._guard_sleeps:
            assert time.monotonic() < end, f"{count} requests are held"
            time.sleep(0.001)


def test_a_request_that_comes_while_its_connection_is_served_is_served_next(running: RunningProcess) -> None:
    wire = Wire(running.path)
    running.ask(wire)
    wire.send(running.script, "hold")
    begun(running)
    other = Wire(running.path)
    running.ask(other)  # another thread waits for events, and sees the next request
    wire.send(running.script, "next")
    time.sleep(0.02)
    event = module(running)["HELD"]
    assert isinstance(event, threading.Event)
    event.set()
    assert wire.answer() == (b"hold", True)
    assert wire.answer() == (b"next", True)


def test_idle_connections_are_given_up_at_the_end(running: RunningProcess) -> None:
    wires = [Wire(running.path) for _ in range(THREADS)]
    for wire in wires:
        running.ask(wire)
    running.process.stop()
    for wire in wires:
        assert wire.channel.next_record() == (CLOSING, b"")


def test_the_end_does_not_wait_for_a_thread_with_a_request(running: RunningProcess) -> None:
    wires = [Wire(running.path) for _ in range(2)]
    running.ask(wires[0])
    running.ask(wires[1])
    wires[0].send(running.script, "hold")
    begun(running)
    running.process.stop()
    assert wires[1].channel.next_record() == (CLOSING, b"")


def test_each_request_of_a_random_load_has_its_answer(running: RunningProcess) -> None:
    """Clients that wait at random, and requests that sleep, compute or answer at once."""
    wrong: list[object] = []

    def client(number: int) -> None:
        chance = random.Random(number)
        wire = Wire(running.path)
        for turn in range(60):
            kind = chance.choice(["", "", "", "sleep0.003 ", "burn0.002 "])
            query = f"{kind}{number}-{turn}"
            while True:
                try:
                    wire.send(running.script, query)
                    answer, is_kept = wire.answer()
                    break
                except (ClientGone, OSError):  # given up for another connection before the request came
                    wire = Wire(running.path)
            if answer != query.encode():
                wrong.append((query, answer))
            if not is_kept:
                wire = Wire(running.path)
            if chance.random() < 0.1:
                time.sleep(chance.random() / 100)

    clients = [threading.Thread(target=client, args=(number,)) for number in range(2 * THREADS)]
    for each in clients:
        each.start()
    for each in clients:
        each.join(60)
        assert not each.is_alive()
    assert wrong == []


def test_time_of_a_thread_that_sleeps_and_runs() -> None:
    number = threading.get_native_id()
    before = active_time(number)
    time.sleep(0.05)
    slept = active_time(number) - before
    assert 0 < slept < 0.04
    end = time.thread_time() + 0.05
    while time.thread_time() < end:
        pass
    assert active_time(number) - before - slept > 0.045


def test_time_of_a_thread_that_is_not_there() -> None:
    assert active_time(2**22 + 1) == 0.0
