"""Dates in the three forms of RFC 9110, 5.6.7, and the times of the access log and the error log."""

from __future__ import annotations

import re
import time
from functools import lru_cache

from whimbrel.base.lazy_re import compile

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH_NUMBER = {name: at for at, name in enumerate(MONTHS, 1)}

# The date behind the weekday, in the order in which httpd tries them; anything may follow (a zone is not
# read: the date is GMT).
_IMF = compile(r"([0-9]{1,2}) ([A-Z][a-z]{2}) ([0-9]{4}) ([0-9]{2}):([0-9]{2}):([0-9]{2}) ", re.ASCII)
_RFC850 = compile(r"([0-9]{2})-([A-Z][a-z]{2})-([0-9]{2}) ([0-9]{2}):([0-9]{2}):([0-9]{2}) ", re.ASCII)
_ASCTIME = compile(r"([A-Z][a-z]{2}) ([ 0-9][0-9]) ([0-9]{2}):([0-9]{2}):([0-9]{2}) ([0-9]{4})", re.ASCII)


@lru_cache(maxsize=1024)
def format_http(seconds: int) -> str:
    """``Sun, 06 Nov 1994 08:49:37 GMT``."""
    t = time.gmtime(seconds)
    return (
        f"{DAYS[t.tm_wday]}, {t.tm_mday:02} {MONTHS[t.tm_mon - 1]} {t.tm_year:04} "
        f"{t.tm_hour:02}:{t.tm_min:02}:{t.tm_sec:02} GMT"
    )


@lru_cache(maxsize=1024)
def parse_http(text: str) -> int | None:
    """Return the seconds since 1970 of a date in one of the three forms, else None; httpd's
    ``apr_date_parse_http``.

    The weekday is any word, zones are ignored; a day that the month does not have (30 Feb) and dates up to
    1970-01-01 00:00:00 are invalid.
    """
    rest = text.lstrip(" \t\n\v\f\r").partition(" ")[2]
    match = _IMF.match(rest)
    if match is not None:
        day, month, year, hour, minute, second = match.groups()
        return _seconds(int(year), month, int(day), hour, minute, second)
    match = _RFC850.match(rest)
    if match is not None:
        day, month, year, hour, minute, second = match.groups()
        short = int(year)
        return _seconds(short + (2000 if short < 70 else 1900), month, int(day), hour, minute, second)
    match = _ASCTIME.match(rest)
    if match is not None:
        month, day, hour, minute, second, year = match.groups()
        return _seconds(int(year), month, int(day), hour, minute, second)
    return None


def _seconds(year: int, month_name: str, day: int, hour: str, minute: str, second: str) -> int | None:
    month = _MONTH_NUMBER.get(month_name)
    h = int(hour)
    m = int(minute)
    s = int(second)
    if month is None or h > 23 or m > 59 or s > 61 or not 1 <= day <= 31:
        return None
    if day == 31 and month in (4, 6, 9, 11):
        return None
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if month == 2 and day > (29 if leap else 28):
        return None
    if year < 1970:
        return None
    from calendar import timegm  # imported late: it is slow, and -t needs none of it

    return timegm((year, month, day, h, m, s)) or None


def log_time(seconds: float) -> str:
    """Return the access log's ``[21/Nov/2026:11:30:00 +0000]`` in local time."""
    t = time.localtime(int(seconds))
    offset = t.tm_gmtoff // 60
    sign = "-" if offset < 0 else "+"
    zone = f"{sign}{abs(offset) // 60:02}{abs(offset) % 60:02}"
    time_of_day = f"{t.tm_hour:02}:{t.tm_min:02}:{t.tm_sec:02}"
    return f"[{t.tm_mday:02}/{MONTHS[t.tm_mon - 1]}/{t.tm_year:04}:{time_of_day} {zone}]"


def error_log_time(seconds: float, *, microseconds: bool) -> str:
    """Return the time of the error log: ``[Sat Nov 21 11:30:00.123456 2026]``; 2.2 has no fraction."""
    from datetime import datetime  # as above

    t = datetime.fromtimestamp(seconds)
    fraction = f".{t.microsecond:06}" if microseconds else ""
    return (
        f"[{DAYS[t.weekday()]} {MONTHS[t.month - 1]} {t.day:02} "
        f"{t.hour:02}:{t.minute:02}:{t.second:02}{fraction} {t.year}]"
    )
