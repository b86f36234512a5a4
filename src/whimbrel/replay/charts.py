"""Charts of a replay: requests by status before and after, and along the time of the log."""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime, timedelta
from typing import Final

from whimbrel.base.counts import count_noun, word_for
from whimbrel.replay.summary import Summary
from whimbrel.replay.tally import NOT_RUN
from whimbrel.report.page.model import Bar, Chart, Column
from whimbrel.report.page.texts import number, page_text

MAX_COLUMNS: Final = 400
MAX_HOUR_COLUMNS: Final = 168
"""Hours that are columns of their own: a week."""
WIDTH: Final = 10
"""Units of a column."""
_HOUR: Final = re.compile(r"(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d)")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def status_chart(summary: Summary) -> Chart | None:
    """Return the requests by status; without an old configuration the logged ones stand before."""
    is_logged = summary.is_against_log
    before: Counter[int] = Counter()
    after: Counter[int] = Counter()
    for (logged, old, new), count in summary.tally.statuses.items():
        before[logged if is_logged else old] += count
        after[new] += count
    highest = max((*before.values(), *after.values()), default=0)
    if not highest:
        return None
    bars = tuple(
        Bar(
            "not run" if status == NOT_RUN else str(status),
            (before[status], after[status]),
            (_share(before[status], highest), _share(after[status], highest)),
        )
        for status in sorted(before.keys() | after.keys())
    )
    names = "as logged" if is_logged else page_text(summary.old), page_text(summary.new)
    return Chart("Requests by status, before and after", names, bars, column="Status")


def _share(count: int, highest: int) -> float:
    return round(100 * count / highest, 2)


def time_chart(summary: Summary) -> Chart | None:
    """Return the requests along the time, those that change in front, or that have another status than was
    logged; None for less than two columns.
    """
    tally = summary.tally
    moments: dict[datetime, tuple[int, int]] = {}
    without = 0
    for hour, (count, changed) in tally.hours.items():
        moment = _moment(hour)
        if moment is None:
            without += count
        else:
            moments[moment] = count, changed
    unit, labels = _columns(sorted(moments))
    if len(labels) < 2:
        return None
    counts = dict.fromkeys(labels, (0, 0))
    length = len(labels[0])
    for moment, (count, changed) in moments.items():
        label = moment.isoformat(" ")[:length]
        if label in counts:
            counts[label] = counts[label][0] + count, counts[label][1] + changed
    highest = max(count for count, _ in counts.values())
    if not highest:
        return None
    columns = tuple(
        Column(
            _written(label),
            f"{_written(label)}: {count_noun(count, 'request')}, {number(changed)} changed",
            at * WIDTH,
            (_share(count, highest), _share(changed, highest)),
        )
        for at, (label, (count, changed)) in enumerate(counts.items())
    )
    span = f"from {_written(labels[0])} to {_written(labels[-1])}"
    note = f"Requests of each {unit}, {span}; the highest is {number(highest)}."
    note += (
        f" {count_noun(without, 'request')} {word_for(without, 'has', 'have')} no time." if without else ""
    )
    what = "with another status than was logged" if summary.is_against_log else "with another answer"
    names = "requests", f"of these, {what}"
    return Chart("Requests along the time", names, columns=columns, highest=highest, note=note)


def _written(label: str) -> str:
    """Return the label of a column as a time."""
    return f"{label}:00" if len(label) > 10 else label


def _moment(hour: str) -> datetime | None:
    found = _HOUR.fullmatch(hour)
    if found is None or found[2] not in _MONTHS:
        return None
    try:
        return datetime(int(found[3]), _MONTHS.index(found[2]) + 1, int(found[1]), int(found[4]))
    except ValueError:
        return None


def _columns(moments: list[datetime]) -> tuple[str, list[str]]:
    """Return the length of a column and the labels of all columns, those without requests too."""
    if not moments:
        return "", []
    span = moments[-1] - moments[0]
    hour = "hour", timedelta(hours=1), MAX_HOUR_COLUMNS
    day = "day", timedelta(days=1), MAX_COLUMNS
    for unit, step, limit in (hour, day):
        if span / step < limit:
            length = 13 if unit == "hour" else 10
            first = moments[0] if unit == "hour" else moments[0].replace(hour=0)
            count = int((moments[-1] - first) / step) + 1
            return unit, [(first + at * step).isoformat(" ")[:length] for at in range(count)]
    for unit, length in (("month", 7), ("year", 4)):
        labels = list(dict.fromkeys(moment.isoformat(" ")[:length] for moment in moments))
        if len(labels) <= MAX_COLUMNS or unit == "year":
            return unit, labels[-MAX_COLUMNS:]
    return "", []
