"""Results of jobs: what the log of a job shows of them, statuses of APR."""

from __future__ import annotations

from whimbrel.modules.md.mod_md.result import AH10109, JobResult, cause_of


def test_changes_are_shown_once_with_step_detail_and_problem() -> None:
    result, seen = JobResult(), list[str]()
    result.observe(lambda: seen.append(result.progress()))
    result.begin("Setting up challenge 'http-01' for domain a.test")
    result.set(20014, "MDMessageCmd x failed with exit code 1.", AH10109)
    result.set(20014, "MDMessageCmd x failed with exit code 1.", AH10109)
    result.set(0)
    assert seen == [  # job.json of 2.4.71
        "Setting up challenge 'http-01' for domain a.test",
        "Setting up challenge 'http-01' for domain a.test: MDMessageCmd x failed with exit code 1., "
        "problem: urn:org:apache:httpd:log:AH10109:",
        "Setting up challenge 'http-01' for domain a.test",
    ]


def test_statuses_of_apr() -> None:
    assert cause_of(20014) == "(20014)Internal error (specific information not available)"
    assert (cause_of(22), cause_of(0)) == ("(22)Invalid argument", "")
