"""Dates of RFC 9110 5.6.7 and those of the logs."""

from __future__ import annotations

import time

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


@pytest.fixture
def zone(monkeypatch):
    monkeypatch.setenv("TZ", "XYZ+3:30")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_log_times(zone):
    assert log_time(RFC) == "[06/Nov/1994:05:19:37 -0330]"
    assert error_log_time(RFC + 0.25, microseconds=True) == "[Sun Nov 06 05:19:37.250000 1994]"
    assert error_log_time(RFC + 0.25, microseconds=False) == "[Sun Nov 06 05:19:37 1994]"
