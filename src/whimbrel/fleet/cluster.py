"""The Dask cluster of `whimbrel replay` for the servers of a fleet: one server for each thread at a time."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final

from whimbrel.fleet.model import ServerResult
from whimbrel.fleet.servers import FleetServer
from whimbrel.fleet.tasks import FleetTask, failed, work
from whimbrel.replay.cluster import ClusterFuture, cluster_at

_POLL_SECONDS: Final = 1.0
"""Seconds between two looks at the clock."""


def cluster_results(
    task: FleetTask, servers: Sequence[FleetServer], numbers: Sequence[int], address: str, seconds: float
) -> Iterator[tuple[int, ServerResult]]:
    """Yield the results of the servers *numbers*, as they come.

    A server that takes more than *seconds* is given up, and the thread that works on it gets no other one;
    when all threads are lost in this way, the servers that are left are not decided. Raises OSError for a
    cluster that cannot be reached, ImportError without the package distributed.
    """
    pending = deque(numbers)
    running: dict[ClusterFuture, tuple[int, float]] = {}
    with cluster_at(address, f"whimbrel-fleet-{time.time()}") as cluster:
        threads = cluster.threads
        while pending or running:
            while pending and len(running) < threads:
                number = pending.popleft()
                future = cluster.submit(_run, number, task, servers[number])
                running[future] = number, time.monotonic() + seconds
            for future in cluster.done(running, _POLL_SECONDS) if running else ():
                number, _deadline = running.pop(future)
                yield number, _result(future, servers[number])
            now = time.monotonic()
            for future in [one for one, (_number, deadline) in running.items() if deadline <= now]:
                number, _deadline = running.pop(future)
                future.cancel()
                threads -= 1
                yield number, failed(servers[number], f"given up after {seconds:g} seconds")
            if not threads:
                for number in pending:
                    yield number, failed(servers[number], "all threads of the cluster are at work on others")
                return


def _result(future: ClusterFuture, server: FleetServer) -> ServerResult:
    if future.status != "finished":
        why = type(future.exception()).__name__ if future.status == "error" else future.status
        return failed(server, f"its worker of the cluster was lost: {why}")
    result = future.result()
    assert isinstance(result, ServerResult)
    return result


def _run(task: FleetTask, server: FleetServer) -> ServerResult:
    """Work on *server* in a thread of a worker."""
    try:
        return work(task, server)
    except MemoryError:
        return failed(server, "it needs more memory than the worker of the cluster has")
