"""The shared scoreboard."""

from __future__ import annotations

import json
import os
import struct
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.support.samples import amount

from whimbrel.modules.generators.mod_status.state import State
from whimbrel.server.worker.scoreboard import (
    SLOT,
    SLOTS,
    Scoreboard,
    ServerInfo,
    SharedScoreboard,
    connection_row,
)
from whimbrel.server.worker.scoreboard_text import ScoreboardError

PROCESS = {
    "slot": 1,
    "pid": 2,
    "stopping": False,
    "connections": 3,
    "accepting": True,
    "writing": 0,
    "keep_alive": 1,
    "closing": 0,
    "wait_io": 0,
    "workers": "RK_",
}
WORKER = {"process": 1, "generation": 0, "pid": 2, "requests": 4, "sent": 5, "cpu": 0.5, "duration": 6.0}


def a_text(**changes: Any) -> dict[str, Any]:
    """Return the text of a worker."""
    return {
        "accesses": 1,
        "bytes": 10,
        "duration": 2.0,
        "cpu": (0.5, 0.25),
        "process": PROCESS,
        "rows": [],
        "worker": WORKER,
        "idle": 1,
        "waiting": "_",
        **changes,
    }


def write_raw(
    board: SharedScoreboard, slot: int, data: bytes, length: int | None = None, serial: int = 2
) -> None:
    """Write what a compromised worker may write."""
    struct.pack_into("=QQ", board._memory, slot * 16, serial, len(data) if length is None else length)
    at = board._texts + slot * SLOT
    board._memory[at : at + len(data)] = data


def test_the_board_is_shared_with_children() -> None:
    board = SharedScoreboard(4)
    pid = os.fork()
    if not pid:
        board.write(2, a_text(accesses=7))
        os._exit(0)
    os.waitpid(pid, 0)
    assert board.read(2) == a_text(accesses=7)
    assert board.read(1) is None
    board.clear(2)
    assert board.read(2) is None


def test_a_crowd_of_rows_is_cut_to_fit() -> None:
    board = SharedScoreboard(2)
    row = connection_row("W", "\xff" * 90, "\xff" * 90, "\xff" * 9000, "\xff" * 90, 2**62)
    assert [len(row[key]) for key in ("client", "protocol", "request", "vhost")] == [
        63,
        15,
        63,
        31,
    ]  # as in httpd's scoreboard.h
    board.write(0, a_text(rows=[row] * 40))
    found = board.read(0)
    assert found is not None
    assert found["accesses"] == 1
    assert found["rows"] == [row] * 16


def test_a_text_never_exceeds_its_slot() -> None:
    board = SharedScoreboard(2)
    board.write(0, a_text(rows=[{"request": "\xff" * 7000}] * 3))
    assert board.read(0) == a_text()
    board.write(0, a_text(process={**PROCESS, "workers": "K" * 40_000}))
    assert board.read(0) == a_text()  # it was not written


def test_the_end_of_a_long_request_on_demand() -> None:
    """SeeRequestTail: httpd shows the last 63 characters."""
    line = "GET /" + "x" * 100 + " HTTP/1.1"
    assert connection_row("W", "", "", line, "", 0, tail=True)["request"] == "x" * 54 + " HTTP/1.1"
    assert connection_row("W", "", "", line, "", 0)["request"] == "GET /" + "x" * 58


def test_as_many_rows_as_fit_are_written() -> None:
    board, row = SharedScoreboard(2), connection_row("K", "", "", "", "", 0)
    fitting = (SLOT - len(json.dumps(a_text(), separators=(",", ":")))) // (
        len(json.dumps(row, separators=(",", ":"))) + 1
    )
    for count, told in ((fitting, fitting), (fitting + 10, 16), (10_000, 16)):
        board.write(0, a_text(rows=[row] * count))
        found = board.read(0)
        assert found is not None
        assert len(found["rows"]) == told


def test_counts_of_a_retired_worker_stay_until_the_reset() -> None:
    board, life = SharedScoreboard(3), ServerInfo(10.0, 10.0)
    mine = a_text()
    board.write(1, a_text(accesses=5, bytes=7))
    board.retire(1)
    board.write(1, a_text(accesses=2))
    board.retire(1)
    assert board.read(1) is None
    totals = Scoreboard(board, 0, life, lambda: mine).totals()
    assert (totals["accesses"], totals["bytes"], totals["duration"]) == (1 + 5 + 2, 10 + 7 + 10, 6.0)
    assert totals["cpu"] == (0.5, 0.25, 1.0, 0.5)
    board.forget()
    assert Scoreboard(board, 0, life, lambda: mine).totals()["accesses"] == 1


def test_counts_of_a_killed_worker_are_those_that_it_wrote_last() -> None:
    board = SharedScoreboard(3)
    board.write(1, a_text(accesses=5, bytes=7))
    board.counter(1)(8, 70, 3.5)
    assert totals_of(board, 0, accesses=0, bytes=0, duration=0.0)["accesses"] == 8
    board.retire(1)
    board.write(1, a_text(accesses=0, bytes=0, duration=0.0))  # the worker after it begins with none
    totals = totals_of(board, 0, accesses=0, bytes=0, duration=0.0)
    assert (totals["accesses"], totals["bytes"], totals["duration"]) == (8, 70, 3.5)


def test_counts_that_are_none_are_ignored() -> None:
    board = SharedScoreboard(2)
    board.write(0, a_text(accesses=5))
    board.counter(0)((1 << 64) - 1, 1 << 63, float("nan"))
    board.retire(0)
    past = board.retired_totals()
    assert (past["accesses"], past["bytes"], past["duration"]) == (5, 10, 2.0)


def test_an_empty_slot_is_retired_without_trace() -> None:
    board = SharedScoreboard(2)
    board.retire(0)
    assert board.retired_totals()["accesses"] == 0


# attacks of a compromised worker -----------------------------------------------------------------
TRUNCATED = json.dumps(a_text(rows=[{"request": "x" * 40_000}])).encode()[:SLOT]


@pytest.mark.parametrize(
    "data",
    [
        b"garbage",
        TRUNCATED,
        b"[" * SLOT,
        b"null",
        b"[]",
        b"1" * 5000,
        b"{}",
        json.dumps(a_text(accesses=-1)).encode(),
        json.dumps(a_text(accesses=10**30)).encode(),
        json.dumps(a_text(duration=float("nan"))).encode(),
        json.dumps(a_text(idle=10**9)).encode(),
        json.dumps(a_text(waiting="x")).encode(),
        json.dumps(a_text(rows=[{**connection_row("K", "", "", "", "", 0), "request": "\u20ac"}])).encode(),
        json.dumps(a_text(cpu=[1])).encode(),
        json.dumps(a_text(process={**PROCESS, "workers": "<b>"})).encode(),
    ],
    ids=lambda data: repr(data[:12]),
)
def test_garbage_is_refused_by_the_master_and_skipped_by_the_others(data: bytes) -> None:
    board = SharedScoreboard(3)
    board.write(0, a_text())
    write_raw(board, 1, data)
    with pytest.raises(ScoreboardError):
        board.read(1)
    assert [slot for slot, _ in board.slots_in_use()] == [0]
    with pytest.raises(ScoreboardError):
        board.retire(1)
    assert board.read(1) is None
    board.retire(0)
    assert board.retired_totals()["accesses"] == 1


def test_lengths_and_serial_numbers_at_their_ends() -> None:
    board = SharedScoreboard(2)
    write_raw(board, 0, b"x", 2**64 - 1, 2**64 - 2)
    with pytest.raises(ScoreboardError):
        board.retire(0)
    assert board.read(0) is None
    write_raw(board, 0, b"x", 1, 2**64 - 1)
    board.clear(0)
    assert board.read(0) is None
    write_raw(board, 0, b"x", 1, 2**64 - 1)
    board.write(0, a_text())
    assert board.read(0) == a_text()


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=80)
    | st.sampled_from(["_", "K", "W" * 70]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from([*a_text(), *PROCESS, *WORKER, "state", "served", "client"]), inner)
    ),
    max_leaves=12,
)


@settings(max_examples=amount(100, 300), deadline=None)
@given(
    st.integers(0, 2),
    st.dictionaries(st.sampled_from(list(a_text())), VALUES),
    st.binary(max_size=64),
    st.integers(0, 200),
)
@example(2, {"accesses": 2**63 - 1, "bytes": 2**63 - 1, "duration": 1e18, "cpu": [1e18, 1e18]}, b"", 0)
def test_no_text_stops_a_reader(slot: int, changes: dict[str, Any], noise: bytes, at: int) -> None:
    """Master (reaping) and workers (server-status) read any text in any slot, the totals included."""
    board = SharedScoreboard(2)
    data = bytearray(json.dumps(a_text(**changes)).encode()[:SLOT])
    data[at : at + len(noise)] = noise
    write_raw(board, slot, bytes(data[:SLOT]))
    scoreboard = Scoreboard(board, 0, ServerInfo(1.0, 1.0), a_text)
    request: Any = type(
        "R",
        (),
        {
            "engine": type(
                "E",
                (),
                {"runtime": type("T", (), {"scoreboard": scoreboard, "now": staticmethod(lambda: 5.0)})},
            )
        },
    )
    state = State(request, True)
    assert state.accesses >= 0 and len(state.board) < SLOTS * 64
    for number in (0, 1):
        try:
            board.retire(number)
        except ScoreboardError:
            assert slot == number
    assert board.retired_totals()["accesses"] >= 0


@settings(max_examples=amount(66, 200), deadline=None)
@given(st.binary(max_size=200), st.integers(0, 3 * 16 + 200))
def test_no_bytes_stop_a_reader(noise: bytes, at: int) -> None:
    board = SharedScoreboard(2)
    board.write(0, a_text())
    board._memory[at : at + len(noise)] = noise
    Scoreboard(board, 1, ServerInfo(1.0, 1.0), a_text).totals()
    for slot in (0, 1):
        try:
            board.retire(slot)
        except ScoreboardError:
            pass
        assert board.read(slot) is None


def totals_of(board: SharedScoreboard, slot: int, **changes: Any) -> dict[str, Any]:
    """Return the totals that the worker of *slot* reports when its own text has *changes*."""
    return Scoreboard(board, slot, ServerInfo(0.0, 0.0), lambda: a_text(**changes)).totals()


def test_a_reported_count_is_in_the_reports_of_other_workers() -> None:
    board = SharedScoreboard(4)
    for slot in (0, 1):
        board.write(slot, a_text(accesses=1))  # a text that is up to a second old
    assert totals_of(board, 0, accesses=50, bytes=500, duration=9.0)["accesses"] == 51
    later = totals_of(board, 1, accesses=1)
    assert (later["accesses"], later["bytes"], later["duration"]) == (51, 510, 11.0)


def test_a_reported_count_outlives_its_worker() -> None:
    board = SharedScoreboard(4)
    board.write(0, a_text(accesses=1))
    board.write(1, a_text(accesses=1))
    before = totals_of(board, 0, accesses=50)["accesses"]
    board.retire(0)
    assert totals_of(board, 1, accesses=1)["accesses"] == before
    board.write(0, a_text(accesses=0))  # the worker after it
    assert totals_of(board, 1, accesses=1)["accesses"] == before


def test_counts_that_are_being_moved_are_read_as_they_were() -> None:
    board = SharedScoreboard(4)
    board.write(0, a_text(accesses=7))
    before = board.slots_in_use()
    struct.pack_into("=QQ", board._memory, board.slots * 16, 1, 0)  # the master has begun to move them
    board.clear(0)
    assert board.slots_in_use() == before


def test_counts_that_are_moved_between_two_reads_of_a_report_do_not_lower_it() -> None:
    """The master ends a worker after a reader has read the old text of its slot."""
    board = SharedScoreboard(4)
    board.write(0, a_text(accesses=1))
    before = totals_of(board, 0, accesses=50)["accesses"]
    reader = Scoreboard(board, 2, ServerInfo(0.0, 0.0), lambda: a_text(accesses=0))
    reader.workers()
    board.write(0, a_text(accesses=50))
    board.retire(0)
    assert reader.totals()["accesses"] >= before


def test_reports_begin_anew_with_a_reset() -> None:
    board = SharedScoreboard(4)
    totals_of(board, 0, accesses=50)
    board.forget()
    assert totals_of(board, 1, accesses=2)["accesses"] == 2


def test_totals_beyond_a_count_are_its_maximum() -> None:
    board = SharedScoreboard(4)
    for slot in (0, 1, 2):
        board.write(slot, a_text(accesses=(1 << 63) - 1))
    assert totals_of(board, 3)["accesses"] == (1 << 63) - 1


@pytest.mark.parametrize("reported", [(1 << 64) - 1, 1 << 63])
def test_reported_total_that_is_none_is_ignored(reported: int) -> None:
    board = SharedScoreboard(4)
    for slot, duration in enumerate((float("nan"), float("inf"), -1.0)):
        struct.pack_into("=QQd", board._memory, board._reported + slot * 24, reported, 0, duration)
    totals = totals_of(board, 3, accesses=7)
    assert (totals["accesses"], totals["bytes"], totals["duration"]) == (7, 10, 2.0)
