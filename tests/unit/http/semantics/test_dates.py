"""Dates of RFC 9110 5.6.7 and those of the logs."""

from __future__ import annotations

import calendar
import time
from email.utils import formatdate

import pytest

from whimbrel.http.semantics.dates import error_log_time, format_http, log_time, parse_http

RFC = 784111777  # the RFC's example: 6 November 1994, 08:49:37 GMT


@pytest.mark.parametrize(
    "text", ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"]
)
def test_the_three_forms(text):
    assert parse_http(text) == RFC


def test_format():
    assert format_http(RFC) == "Sun, 06 Nov 1994 08:49:37 GMT"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "garbage",
        "06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 31 Feb 2021 00:00:00 GMT",
        "sun, 06 nov 1994 08:49:37 gmt",
        "Thu, 01 Jan 1970 00:00:00 GMT",
        "Mon, 31 Dec 2024 24:00:00 GMT",
        "Mon, 31 Apr 2024 00:00:00 GMT",
        "Wed, 03 Jan 1900 00:00:00 GMT",
    ],
)
def test_no_dates(text):
    assert parse_http(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "Mon, 06 Nov 1994 08:49:37 GMT",
        "x 6 Nov 1994 08:49:37 +0000",
        "Sun, 06 Nov 1994 08:49:37 GMT; length=1",
    ],
)
def test_what_is_not_looked_at(text):
    assert parse_http(text) == RFC


BOUNDS = [
    *((1994, 11, 6, hour, 59, 59) for hour in range(24)),
    *(
        (2023, month, day, 23, 0, 0)
        for month in range(1, 13)
        for day in (1, calendar.monthrange(2023, month)[1])
    ),
    *((2024, 2, 29, 0, 0, 0), (2000, 2, 29, 0, 0, 0), (1970, 1, 1, 0, 0, 1), (2069, 12, 31, 23, 59, 59)),
    *((1994, 11, 6, 8, minute, minute) for minute in (0, 1, 29, 58, 59)),
]


def forms(when: tuple[int, ...]) -> list[str]:
    """Return the three forms of RFC 9110, as the C library writes them."""
    full = time.gmtime(calendar.timegm(when))
    return [
        formatdate(calendar.timegm(when), usegmt=True),
        time.strftime("%A, %d-%b-%y %H:%M:%S GMT", full),
        time.asctime(full),
    ]


@pytest.mark.parametrize("when", BOUNDS)
def test_every_hour_month_and_last_day(when):
    seconds = calendar.timegm(when)
    assert format_http(seconds) == forms(when)[0]
    assert [parse_http(text) for text in forms(when)] == [seconds] * 3


@pytest.mark.parametrize(
    "rest",
    [
        *(
            f"{day} 23:00:00"
            for day in ("00 Jan", "32 Jan", "31 Apr", "31 Jun", "31 Sep", "31 Nov", "30 Feb")
        ),
        *(f"06 Nov {clock}" for clock in ("24:00:00", "23:60:00", "23:59:62")),
        "29 Feb 12:00:00",
        "01 Foo 12:00:00",
    ],
)
def test_what_no_calendar_has(rest):
    day, month, clock = rest.split()
    assert parse_http(f"Sun, {day} {month} 2023 {clock} GMT") is None
    assert parse_http(f"Sunday, {day}-{month}-23 {clock} GMT") is None
    assert parse_http(f"Sun {month} {day} {clock} 2023") is None


def test_leap_seconds_and_centuries():
    assert parse_http("Sat, 31 Dec 2016 23:59:61 GMT") == calendar.timegm((2017, 1, 1, 0, 0, 1))
    assert parse_http("Thu, 29 Feb 2100 00:00:00 GMT") is None
    assert parse_http("Thursday, 01-Jan-70 00:00:01 GMT") == 1
    assert parse_http("Tuesday, 31-Dec-69 00:00:00 GMT") == calendar.timegm((2069, 12, 31, 0, 0, 0))


@pytest.fixture
def zone(monkeypatch, request):
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("zone", "clock", "offset"),
    [
        ("XYZ+3:30", "05:19:37", "-0330"),
        ("XYZ-5:45", "14:34:37", "+0545"),
        ("UTC0", "08:49:37", "+0000"),
        ("XYZ+0:30", "08:19:37", "-0030"),
    ],
    indirect=["zone"],
)
def test_log_times(zone, clock, offset):
    assert log_time(RFC) == f"[06/Nov/1994:{clock} {offset}]"
    assert error_log_time(RFC + 0.25, microseconds=True) == f"[Sun Nov 06 {clock}.250000 1994]"
    assert error_log_time(RFC + 0.25, microseconds=False) == f"[Sun Nov 06 {clock} 1994]"
