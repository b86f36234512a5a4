"""The plan of a run, its rates and figures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bench.configs import SITES
from bench.documents import ALL, BY_NAME, CASES, HTTPD
from bench.load import Sample
from bench.process import Memory
from bench.report import half_rows, model, spread
from bench.run import arguments
from bench.runner import Plan, kinds, paced, rates
from bench.times import Times


def sample(requests: int, seconds: float = 2.0, memory: int = 10_000_000, worker: int = 9_000_000) -> Sample:
    return Sample(requests, seconds, 1.0, 0.5, 1.5, Memory(memory, worker))


def test_every_case_has_its_site_and_is_asked_of_apache() -> None:
    assert {case.site for case in CASES} <= set(SITES)
    assert all(set(HTTPD) <= set(case.servers) for case in CASES)
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("name", ["1k-rules", "1k-redirects"])
def test_the_rule_that_applies_is_the_last_of_a_thousand(name: str) -> None:
    case = BY_NAME[name]
    rules = [
        line.split()[1]
        for line in SITES[case.site].httpd(Path("/root")).splitlines()
        if line.startswith("RewriteRule ")
    ]
    assert len(rules) == 1000
    assert [number for number, rule in enumerate(rules, 1) if re.search(rule, case.path)] == [1000]


def test_half_of_the_median_of_its_own_load_and_of_apaches() -> None:
    samples = {"whimbrel": [sample(8000), sample(4000), sample(5000)], "apache": [sample(1000)]}
    assert rates(samples) == {"whimbrel": {"own": 1250.0, "apache": 250.0}, "apache": {"own": 250.0}}
    assert rates({"whimbrel": [sample(4000)]}) == {"whimbrel": {"own": 1000.0}}
    assert kinds("apache", list(ALL)) == ("own",)


def test_a_rate_is_held_by_what_was_answered() -> None:
    found = paced(Times([1.0] * 989 + [7.0] * 11, 2.0), 500.0)
    assert (found["held"], found["latency_p50_ms"], found["latency_p99_ms"], found["latency_worst_ms"]) == (
        1.0,
        1.0,
        7.0,
        7.0,
    )
    assert paced(Times([1.0] * 400, 2.0), 500.0)["held"] == 0.4


def test_medians_but_the_largest_memory() -> None:
    rows = [
        sample(1000, memory=5_000_000),
        sample(3000, memory=9_000_000, worker=3_000_000),
        sample(2000, memory=6_000_000),
    ]
    one = model({"1k": {"whimbrel": rows, "apache": [sample(500)]}})["1k"]["whimbrel"]
    assert (one["figures"]["requests_per_cpu_second"], one["range"]["requests_per_cpu_second"]) == (
        2000.0,
        [1000.0, 3000.0],
    )
    assert (one["figures"]["peak_memory_mb"], one["figures"]["worker_memory_mb"]) == (9.0, 9.0)
    assert one["ratio_to_apache"]["requests_per_cpu_second"] == 4.0
    assert spread(one, "requests_per_cpu_second") == 1.0
    assert model({"1k": {"whimbrel": rows}})["1k"]["whimbrel"]["ratio_to_apache"] == {}


def test_as_many_steps_as_measurements() -> None:
    plan = Plan(
        arguments(["--cases", "1k,304", "--rounds", "2", "--no-half"]),
        Path("nowhere"),
        ["whimbrel", "apache", "granian"],
    )
    assert plan.steps() == 2 * (3 + 2)
    assert [plan.halved(case) for case in plan.cases] == [[], []]


def test_a_rate_that_was_not_held_is_marked() -> None:
    figures = {
        "requests_per_second": 1000.0,
        "held": 0.8,
        **{f"latency_{name}_ms": 1.0 for name in ("p50", "p99", "p999", "worst")},
    }
    row = {"figures": figures, "range": {name: [value, value] for name, value in figures.items()}}
    assert next(half_rows({"1k": {"apache": {"own": row}}}))[:4] == [
        "1k",
        "apache",
        "its own",
        "1,000 (80% held)",
    ]
