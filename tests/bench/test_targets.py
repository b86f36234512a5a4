"""Performance targets."""

from __future__ import annotations

import pytest
from bench.targets import Condition, conditions

from tests.bench.runs import full, half, run

BELOW = "every case"
SMALL, BIG = "memory (PSS) of the worker, small cases", "memory (PSS) of the worker, big cases"


def found(name: str, wanted: str = "", **results: object) -> Condition:
    return next(c for c in conditions(run(**results)) if c.name == name and wanted in c.wanted)  # type: ignore[arg-type]


@pytest.mark.parametrize(("per_cpu", "met"), [(4000.0, True), (3990.0, False)])
def test_a_static_file_against_apache(per_cpu: float, met: bool) -> None:
    one = found(
        "static file of 1 KB",
        "4 times apache",
        cases={"1k": {"whimbrel": full(per_cpu), "apache": full(1000.0)}},
    )
    assert (one.found, one.met) == (f"{per_cpu / 1000:.2f}", met)


def test_a_static_file_against_nginx_has_a_limit_of_its_own() -> None:
    row = {"whimbrel": full(1300.0), "apache": full(1000.0), "nginx": full(1000.0)}
    assert found("static file of 1 KB", "nginx", cases={"1k": row}).met is True
    assert found("static file of 1 KB", "apache", cases={"1k": row}).met is False


def test_what_was_not_measured_is_neither_met_nor_not() -> None:
    assert {c.met for c in conditions(run({}))} == {None}
    assert {c.met for c in conditions(run({"1k": {"whimbrel": full()}})) if c.name != SMALL} == {None}


def test_every_case_below_apache_is_named() -> None:
    cases = {
        name: {"whimbrel": full(value), "apache": full(1000.0)}
        for name, value in (("10m", 900.0), ("404", 5000.0), ("ssi", 999.0))
    }
    one = found(BELOW, cases=cases)
    assert one.met is False
    assert "0.90 (10m)" in one.found
    assert "(ssi)" in one.found
    assert "404" not in one.found


def test_http2_is_one_of_the_cases() -> None:
    cases = {
        "h2c": {"whimbrel": full(500.0), "apache": full(1000.0)},
        "404": {"whimbrel": full(5000.0), "apache": full(1000.0)},
    }
    one = found(BELOW, cases=cases)
    assert (one.met, one.found) == (False, "0.50 (h2c)")


@pytest.mark.parametrize(
    ("case", "title", "apache", "nginx"),
    [
        ("404-fresh", "404, each URL another", 2.7, None),
        ("visitors", "visitors", 2.9, 1.0),
        ("visitors-c4", "visitors, connections: 4", 2.5, 1.0),
        ("replay", "replay of an access log", 1.45, None),
        ("cgi-post", "CGI", 2.4, None),
        ("server-status", "server-status", 3.0, None),
    ],
)
def test_requests_that_do_not_repeat(case: str, title: str, apache: float, nginx: float | None) -> None:
    for share in (1.0, 0.99):
        row = {
            "whimbrel": full(1000.0 * apache * share),
            "apache": full(1000.0),
            "nginx": full(1000.0 * apache),
        }
        assert found(title, f"{apache:g} times apache", cases={case: row}).met is (share == 1.0)
        if nginx is not None:
            assert found(title, "nginx", cases={case: row}).met is (share == 1.0)


def test_the_smallest_of_the_cases_that_grow_decides() -> None:
    cases = {
        "auth": {"whimbrel": full(9000.0), "apache": full(1000.0)},
        "auth-bcrypt": {"whimbrel": full(200_000.0), "apache": full(1000.0)},
    }
    one = found("hashes", cases=cases)
    assert (one.met, one.found) == (False, "9.00 (auth)")


OWN, OF_APACHE = "p99 at half of its own full load", "p99 at half of apache's full load"


def test_half_load_is_compared_with_apache_at_half_of_its_own() -> None:
    halves = {"1k": {"whimbrel": {"own": half(4.0), "apache": half(2.0)}, "apache": {"own": half(3.0)}}}
    assert (found(OWN, cases={}, halves=halves).met, found(OF_APACHE, cases={}, halves=halves).met) == (
        False,
        True,
    )
    assert found(OWN, cases={}, halves=halves).found == "1.33 (1k)"


def test_a_rate_that_was_not_held_is_not_met_however_short_the_times() -> None:
    halves = {"1k": {"whimbrel": {"own": half(1.0, held=0.8)}, "apache": {"own": half(3.0)}}}
    one = found(OWN, cases={}, halves=halves)
    assert (one.met, one.found) == (False, "rate not held (1k)")


def test_memory_of_small_cases_is_absolute_and_of_big_ones_relative() -> None:
    cases = {
        "1k": {"whimbrel": full(memory=59.0), "apache": full(memory=5.0)},
        "10k-hosts": {"whimbrel": full(memory=90.0), "apache": full(memory=50.0)},
    }
    assert (found(SMALL, cases=cases).met, found(BIG, cases=cases).met) == (True, True)
    cases["10k-networks"] = {"whimbrel": full(memory=59.0), "apache": full(memory=8.0)}
    one = found(BIG, cases=cases)
    assert (one.met, one.found) == (False, "7.38 (10k-networks)")
    cases["404"] = {"whimbrel": full(memory=60.5)}
    assert found(SMALL, cases=cases).found == "60.5 MB (404)"
    assert found(SMALL, cases=cases).met is False


def test_runs_that_know_no_worker_say_nothing_of_its_memory() -> None:
    rows = {name: full() for name in ("whimbrel", "apache")}
    for row in rows.values():
        del row["figures"]["worker_memory_mb"]
    results = {"cases": {"1k": rows, "10k-hosts": rows}}
    assert (found(SMALL, **results).met, found(BIG, **results).met) == (None, None)
