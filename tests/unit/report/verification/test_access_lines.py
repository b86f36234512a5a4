"""The table of access in text: who, which request, before and after; equal rows once, few of them."""

from __future__ import annotations

from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.report.verification.access_lines import MAX_ROWS, access_lines
from whimbrel.upgrade.model import AccessDifference, Risk


def test_columns() -> None:
    rows = [
        AccessDifference(
            "10.2.0.7", "GET http://a.example/admin/", 403, 200, SourceLocation("/new/.htaccess", 4)
        ),
        AccessDifference("192.0.2.1 as bob", "GET http://a.example/", 200, 401),
        AccessDifference("192.0.2.1", "GET http://a.example/x", 401, 403),
    ]
    assert list(access_lines(rows)) == [
        "who gains or loses access: 1 example gains it, 1 loses it",
        "    gains         403 -> granted  GET http://a.example/admin/",
        "                  10.2.0.7",
        "                  /new/.htaccess:4",
        "    loses         granted -> 401  GET http://a.example/",
        "                  192.0.2.1 as bob",
        "    other answer  401 -> 403  GET http://a.example/x",
        "                  192.0.2.1",
    ]


def test_a_long_request_wraps_no_row() -> None:
    url = f"GET http://a.example/{'x' * 38}"
    lines = list(access_lines([AccessDifference("10.0.0.1", url, 403, 200)]))
    assert lines[1:] == ["    gains  403 -> granted", f"           {url}", "           10.0.0.1"]


def test_the_rest_is_counted() -> None:
    rows = [AccessDifference(f"10.0.0.{n}", "GET /", 403, 200) for n in range(MAX_ROWS + 5)]
    lines = list(access_lines([*rows, *rows]))
    assert len(lines) == 1 + 2 * MAX_ROWS + 1
    assert lines[-1] == "    and 5 more (--format html shows them)"
    assert list(access_lines([])) == []


def test_hostile_text_is_cut_and_escaped() -> None:
    lines = list(access_lines([AccessDifference("a\x1b[31m" * 99, "GET /\n" + "x" * 999, 403, 200)]))
    assert len(lines) == 4
    assert all("\x1b" not in line and len(line) < 260 for line in lines)


def test_a_handler_may_refuse_what_access_control_lets_in() -> None:
    """A PUT for a file that 2.4 lets in is answered with 405 by its default handler, as apache2 does."""
    one = AccessDifference("192.0.2.1", "PUT http://a.example/", 403, 200, answers=(403, 405))
    assert one.risk is Risk.OPENS and one.words == ("403", "granted (405)")
    assert replace(one, answers=(403, 200)).words == replace(one, answers=None).words == ("403", "granted")
