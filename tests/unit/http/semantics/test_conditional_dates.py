"""Conditions about times: what httpd 2.4.71 answered for a file that had changed 30 and 90 seconds before."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.access_site import AccessSite

from whimbrel.http.semantics.dates import format_http

SINCE, UNTIL, RANGE = "If-Unmodified-Since", "If-Modified-Since", "If-Range"
# age of the file, with Range, field: statuses for a date 10 seconds before the change, at it and behind it
RECORDED = {
    (30, False, SINCE): (412, 200, 200),
    (30, False, UNTIL): (200, 304, 304),
    (30, True, SINCE): (206, 206, 206),
    (30, True, UNTIL): (206, 206, 206),
    (30, True, RANGE): (200, 200, 200),
    (90, False, SINCE): (412, 200, 200),
    (90, False, UNTIL): (200, 304, 304),
    (90, True, SINCE): (412, 206, 206),
    (90, True, UNTIL): (206, 304, 304),
    (90, True, RANGE): (200, 206, 200),
}


@pytest.mark.parametrize(("age", "has_range", "field"), RECORDED)
def test_dates_around_the_change(tmp_path: Path, age: int, has_range: bool, field: str) -> None:
    """RFC 9110, 8.8.2.2: a date is strong 60 seconds after the change, and parts need a strong one."""
    site = AccessSite(tmp_path, "")
    changed = int(site.runtime.now()) - age
    os.utime(tmp_path / "htdocs/f.html", (changed, changed))
    more = "Range: bytes=0-1\r\n" if has_range else ""
    found = tuple(
        site.status(headers=f"{field}: {format_http(changed + distance)}\r\n{more}")
        for distance in (-10, 0, 10)
    )
    assert found == RECORDED[age, has_range, field]


@pytest.mark.parametrize("text", ["yesterday", "0", ""])
@pytest.mark.parametrize(("field", "status"), [(SINCE, 200), (UNTIL, 200)])
def test_what_is_no_date_is_no_condition(tmp_path: Path, field: str, status: int, text: str) -> None:
    """RFC 9110, 13.1.3 and 13.1.4."""
    assert AccessSite(tmp_path, "").status(headers=f"{field}: {text}\r\n") == status


def test_a_date_that_is_still_to_come_is_no_condition(tmp_path: Path) -> None:
    """httpd: If-Modified-Since counts up to the time of the request."""
    site = AccessSite(tmp_path, "")
    later = format_http(int(site.runtime.now()) + 1000)
    assert site.status(headers=f"{UNTIL}: {later}\r\n") == 200
