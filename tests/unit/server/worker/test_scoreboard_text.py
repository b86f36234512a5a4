"""Texts of the scoreboard; `test_scoreboard` has the hostile ones."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel.server.worker.scoreboard_text import MAX_COUNT, SUMS, WORKER, ScoreboardError, parse


@given(st.binary() | st.text().map(str.encode))
def test_bytes_are_a_text_or_unreadable(data: bytes) -> None:
    with pytest.raises(ScoreboardError):
        parse(data, WORKER)


def test_sums_are_read_with_their_types_and_nothing_else() -> None:
    value = {"accesses": MAX_COUNT, "bytes": 0, "duration": 1, "cpu": [1, 2.5], "more": 7}
    assert parse(json.dumps(value).encode(), SUMS) == {
        "accesses": MAX_COUNT,
        "bytes": 0,
        "duration": 1.0,
        "cpu": (1.0, 2.5),
    }


@pytest.mark.parametrize(
    "changes",
    [{"accesses": True}, {"accesses": 1.5}, {"bytes": MAX_COUNT + 1}, {"duration": "1"}, {"cpu": [1, 2, 3]}],
)
def test_other_types_are_unreadable(changes: dict[str, object]) -> None:
    with pytest.raises(ScoreboardError):
        parse(json.dumps({"accesses": 1, "bytes": 0, "duration": 1, "cpu": [1, 2], **changes}).encode(), SUMS)
