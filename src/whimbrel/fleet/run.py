"""A fleet from its servers to its report: equal ones once, on all processors or on a cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from whimbrel.base.latin1 import from_system
from whimbrel.base.lazy_dataclasses import dataclass, field, replace
from whimbrel.fleet.equal_trees import equal_servers
from whimbrel.fleet.model import FleetReport, ServerResult
from whimbrel.fleet.pool import FleetPool, ServerLimits
from whimbrel.fleet.servers import FleetServer
from whimbrel.fleet.tasks import FleetTask

ReportProgress = Callable[[str, int, int], None]
"""Called with a step, and how many of all servers are done."""
TakePage = Callable[[ServerResult], None]
"""Called with each result that has a page, which the report does not keep."""


@dataclass(frozen=True, slots=True)
class FleetOptions:
    """How a fleet is worked on.

    Attributes:
        jobs: the processes.
        cluster: the address of a Dask cluster, which works in their place; "" for none.
        limits: those of one server.
    """

    jobs: int = 1
    cluster: str = ""
    limits: ServerLimits = field(default_factory=ServerLimits)


def run_fleet(
    task: FleetTask,
    servers: Sequence[FleetServer],
    options: FleetOptions,
    report_progress: ReportProgress = lambda _what, _done, _all: None,
    take_page: TakePage = lambda _result: None,
) -> FleetReport:
    """Return the report; Ctrl-C ends the work, and the report has what was finished.

    Raises OSError for a cluster that cannot be reached, ImportError without the package distributed.
    """
    begin = time.monotonic()
    total = len(servers)
    results: dict[int, ServerResult] = {}
    report = FleetReport(task.command, [], total, task.rule_names())
    pool: FleetPool | None = None
    try:
        first = _first_equal(task, servers, lambda done: report_progress("comparing trees", done, total))
        copies: dict[int, list[int]] = {}
        for number, original in first.items():
            copies.setdefault(original, []).append(number)
        numbers = list(copies)
        report.workers = min(options.jobs, len(numbers))
        if not options.cluster:
            pool = FleetPool(task, servers, report.workers, options.limits)
        report_progress("servers", 0, total)
        for number, result in _results(task, servers, numbers, options, pool):
            if result.page:
                take_page(result)
                result = replace(result, page="", has_page=True)
            for copy in copies[number]:
                results[copy] = result if copy == number else _copied(result, servers[copy])
            report_progress("servers", len(results), total)
    except KeyboardInterrupt:
        report.is_interrupted = True
    finally:
        if pool is not None:
            pool.close()
            results |= {number: replace(result, page="") for number, result in pool.late_results}
            report.cut_writes = tuple(from_system(servers[number].name) for number in pool.cut_writes)
    report.servers = [results[number] for number in sorted(results)]
    report.seconds = time.monotonic() - begin
    return report


def _first_equal(
    task: FleetTask, servers: Sequence[FleetServer], report_progress: Callable[[int], None]
) -> dict[int, int]:
    """Return the first equal server of each; written texts name their own place, so no two are equal then."""
    if task.writes:
        return {number: number for number in range(len(servers))}
    return equal_servers(servers, report_progress)


def _results(
    task: FleetTask,
    servers: Sequence[FleetServer],
    numbers: list[int],
    options: FleetOptions,
    pool: FleetPool | None,
) -> Iterator[tuple[int, ServerResult]]:
    if pool is not None:
        return pool.results(numbers)
    from whimbrel.fleet.cluster import cluster_results

    return cluster_results(task, servers, numbers, options.cluster, options.limits.seconds)


def _copied(result: ServerResult, server: FleetServer) -> ServerResult:
    """Return the result of an equal server as that of *server*."""
    return replace(
        result,
        name=from_system(server.name),
        path=from_system(server.path),
        same_as=result.name,
        seconds=0.0,
    )
