"""Windows and delays: times are injected."""

from __future__ import annotations

from calendar import timegm

import pytest

from whimbrel.modules.md.mod_md import timing
from whimbrel.modules.md.mod_md.settings import Slice

DAY = 86_400.0
THIRD = Slice(percent=33)


def test_the_window_that_httpd_has_shown() -> None:
    """md-status of 2.4.71 for a certificate of five years."""
    begin, end = timegm((2026, 11, 23, 8, 26, 23)), timegm((2031, 11, 23, 8, 26, 22))
    assert timing.date_text(timing.begin_of(THIRD, begin, end)) == "Sat, 30 Mar 2030 18:31:11 GMT"


def test_windows_of_a_fixed_length() -> None:
    assert timing.begin_of(Slice(21 * DAY), 0, 90 * DAY) == 69 * DAY
    assert timing.begin_of(Slice(200 * DAY), 10, 90 * DAY) == 10


def test_the_first_certificate_decides() -> None:
    lifetimes = [(0.0, 90 * DAY), (0.0, 10 * DAY)]
    assert timing.renew_at(lifetimes, Slice(2 * DAY), 0) == 8 * DAY
    assert timing.renew_at([*lifetimes, None], Slice(2 * DAY), 5.0) == 5.0
    assert not timing.should_warn(lifetimes, Slice(DAY), 8.9 * DAY)
    assert timing.should_warn(lifetimes, Slice(DAY), 9 * DAY)
    assert not timing.should_warn([None], Slice(DAY), 9 * DAY)


def test_delays_double_up_to_a_day() -> None:
    delays = [timing.retry_delay(errors, 30, "", 0.5) for errors in (1, 2, 3, 12, 13, 10_000)]
    assert delays == [30, 60, 120, 61_440, 86_400, 86_400]
    assert timing.retry_delay(1, 30, "", 0.0) == 15
    assert timing.retry_delay(1, 30, "", 1.0) == 45


@pytest.mark.parametrize(
    ("problem", "delay"),
    [
        ("urn:ietf:params:acme:error:rejectedIdentifier", 86_400),
        ("urn:ietf:params:acme:error:serverInternal", 30),
    ],
)
def test_problems_of_the_configuration_wait_for_a_day(problem: str, delay: float) -> None:
    assert timing.retry_delay(1, 30, problem, 0.5) == delay


def test_checks_vary_by_half() -> None:
    assert [timing.next_check(100, chance) for chance in (0, 0.5, 1)] == [50, 100, 150]


@pytest.mark.parametrize("text", ["", "x", None, 5, "Mon, 99 Nov 2026 25:61:61 GMT"])
def test_malformed_times(text: object) -> None:
    assert timing.date_from(text) == 0.0 or text == "Mon, 99 Nov 2026 25:61:61 GMT"


def test_times_of_the_store() -> None:
    assert (
        timing.date_text(timing.date_from("Mon, 23 Nov 2026 08:26:23 GMT")) == "Mon, 23 Nov 2026 08:26:23 GMT"
    )
