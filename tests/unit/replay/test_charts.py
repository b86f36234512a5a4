"""Charts of a replay."""

from __future__ import annotations

import pytest

from whimbrel.replay.charts import MAX_COLUMNS, status_chart, time_chart
from whimbrel.replay.summary import Summary
from whimbrel.replay.tally import NOT_RUN, Tally


def test_statuses_before_and_after() -> None:
    tally = Tally()
    tally.statuses.update({(200, 200, 403): 40, (200, 200, 200): 60, (404, NOT_RUN, NOT_RUN): 5})
    chart = status_chart(Summary("old", "new", (), tally))
    assert chart is not None
    assert [(bar.label, bar.counts, bar.shares) for bar in chart.bars] == [
        ("not run", (5, 5), (5.0, 5.0)),
        ("200", (100, 60), (100.0, 60.0)),
        ("403", (0, 40), (0.0, 40.0)),
    ]
    assert chart.names == ("old", "new")


def test_without_an_old_configuration_the_log_stands_before() -> None:
    tally = Tally()
    tally.statuses.update({(200, 403, 403): 3})
    chart = status_chart(Summary("", "new", (), tally))
    assert chart is not None and chart.names == ("as logged", "new")
    assert [(bar.label, bar.counts) for bar in chart.bars] == [("200", (3, 0)), ("403", (0, 3))]


@pytest.mark.parametrize(
    ("hours", "labels"),
    [
        ({"10/Oct/2000:22": (4, 1), "11/Oct/2000:01": (2, 0)}, 4),  # 22, 23, 0 and 1 o'clock
        ({"01/Oct/2000:05": (4, 1), "20/Oct/2000:01": (2, 0)}, 20),
        ({"01/Oct/2000:05": (4, 1), "20/Oct/2004:01": (2, 0)}, 2),
        ({f"01/{month}/{year:04}:00": (1, 1) for year in range(1, 9999, 3) for month in ("Jan", "Jul")}, 400),
    ],
    ids=["hours", "days", "months", "years"],
)
def test_columns_of_time(hours: dict[str, tuple[int, int]], labels: int) -> None:
    chart = time_chart(Summary("old", "new", (), Tally(hours=hours)))
    assert chart is not None and len(chart.columns) == labels <= MAX_COLUMNS
    assert max(column.heights[0] for column in chart.columns) == 100.0
    assert all(column.heights[1] <= column.heights[0] for column in chart.columns)


def test_hours_that_are_none() -> None:
    bad = {"": (9, 0), "99/Foo/2000:13": (1, 0), "31/Feb/2000:13": (1, 0)}
    assert time_chart(Summary("old", "new", (), Tally(hours=bad))) is None
    chart = time_chart(
        Summary("old", "new", (), Tally(hours={**bad, "10/Oct/2000:22": (4, 1), "10/Oct/2000:23": (8, 2)}))
    )
    assert chart is not None
    assert [column.title for column in chart.columns] == [
        "2000-10-10 22:00: 4 requests, 1 changed",
        "2000-10-10 23:00: 8 requests, 2 changed",
    ]
    assert chart.note.endswith("the highest is 8. 11 requests have no time.")


@pytest.mark.parametrize(
    ("old", "second"), [("old", "with another answer"), ("", "with another status than was logged")]
)
def test_the_front_of_the_columns_is_what_the_sentence_counts(old: str, second: str) -> None:
    hours = {"10/Oct/2000:22": (4, 1), "10/Oct/2000:23": (8, 2)}
    chart = time_chart(Summary(old, "new", (), Tally(hours=hours)))
    assert chart is not None and chart.names == ("requests", f"of these, {second}")
