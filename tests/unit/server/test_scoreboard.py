"""The shared board."""

from __future__ import annotations

import os

from whimbrel.server.scoreboard import SLOT, Board


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
