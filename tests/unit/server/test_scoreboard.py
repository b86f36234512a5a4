"""The shared board."""

from __future__ import annotations

import json
import os

from whimbrel.server.scoreboard import SLOT, Board, Life, Scoreboard


# the scoreboard -----------------------------------------------------------------------------------
def test_the_board_is_shared_with_children() -> None:
    board = Board(4)
    pid = os.fork()
    if not pid:
        board.write(2, {"accesses": 7, "rows": []})
        os._exit(0)
    os.waitpid(pid, 0)
    assert board.read(2) == {"accesses": 7, "rows": []}
    assert board.read(1) is None
    board.clear(2)
    assert board.read(2) is None


def test_a_crowd_of_rows_is_cut_to_fit() -> None:
    board = Board(2)
    board.write(0, {"accesses": 1, "rows": [{"request": "x" * 100} for _ in range(SLOT // 100)]})
    found = board.read(0)
    assert found is not None
    assert found["accesses"] == 1
    assert len(found["rows"]) == 16


def test_as_many_rows_as_fit_are_told() -> None:
    board, row = Board(2), {"state": "K", "client": "", "protocol": "", "request": "", "vhost": "", "served": 0}
    fitting = (SLOT - 100) // (len(json.dumps(row, separators=(",", ":"))) + 1)
    for count, told in ((fitting, fitting), (fitting + 10, 16), (10_000, 16)):
        board.write(0, {"accesses": 1, "rows": [row] * count})
        found = board.read(0)
        assert found is not None
        assert len(found["rows"]) == told


def test_what_a_buried_worker_has_done_still_counts_until_it_is_forgotten() -> None:
    board, life = Board(3), Life(10.0, 10.0)
    mine = {"accesses": 1, "bytes": 10, "duration": 2.0, "cpu": (0.5, 0.25), "process": {}, "rows": []}
    board.write(1, {**mine, "accesses": 5, "bytes": 7})
    board.bury(1)
    board.write(1, {**mine, "accesses": 2})
    board.bury(1)
    assert board.read(1) is None
    totals = Scoreboard(board, 0, life, lambda: mine).totals()
    assert (totals["accesses"], totals["bytes"], totals["duration"]) == (1 + 5 + 2, 10 + 7 + 10, 6.0)
    assert totals["cpu"] == (0.5, 0.25, 1.0, 0.5)
    board.forget()
    assert Scoreboard(board, 0, life, lambda: mine).totals()["accesses"] == 1


def test_a_slot_that_said_nothing_is_buried_without_trace() -> None:
    board = Board(2)
    board.bury(0)
    assert board.past()["accesses"] == 0
