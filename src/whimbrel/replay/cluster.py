"""Work on a Dask cluster, and replay on one: the same pieces and the same merge as on one machine.

The workers read the configurations, documents and plain logs at the same paths as here.  Dask does the piece
of a worker that dies again elsewhere.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final, Protocol

from whimbrel.replay.local import Progress
from whimbrel.replay.log_files import LogPiece
from whimbrel.replay.tally import Tally
from whimbrel.replay.work import Replayer, ReplayWork

AHEAD: Final = 4  # pieces for each thread of the cluster that are in work
RETRIES: Final = 2  # of a piece whose worker dies
ATTRIBUTE: Final = "whimbrel_replayers"
"""Attribute of a Dask worker: by thread, its Replayer with the time of the work that it is for."""


class ClusterFuture(Protocol):
    """A Dask future: *status* is pending, finished, error, lost or cancelled."""

    status: str

    def done(self) -> bool:
        """Return True if it has a result or an exception."""

    def result(self) -> object:
        """Return the result; raises the exception of the task."""

    def exception(self) -> BaseException | None:
        """Return the exception of the task."""

    def cancel(self) -> None:
        """Forget the task; its thread goes on."""


class _Client(Protocol):
    """A Dask client."""

    def as_current(self) -> AbstractContextManager[object]: ...

    def nthreads(self) -> Mapping[str, int]: ...

    def scatter(self, data: object, *, broadcast: bool, hash: bool) -> object: ...

    def submit(
        self, function: Callable[..., object], *arguments: object, key: str, retries: int
    ) -> ClusterFuture: ...


class Cluster:
    """The workers of a Dask cluster.

    Attributes:
        threads: their number, at least 1.
    """

    def __init__(self, client: _Client, name: str) -> None:
        self.threads: int = sum(client.nthreads().values()) or 1
        self._client = client
        self._name = name

    def share(self, work: object) -> object:
        """Return what stands for *work* among the arguments of `submit`; each worker gets it once."""
        return self._client.scatter(work, broadcast=True, hash=False)

    def submit(self, function: Callable[..., object], number: int, *arguments: object) -> ClusterFuture:
        """Return the Dask future of a call; *number* is different for each."""
        return self._client.submit(function, *arguments, key=f"{self._name}-{number}", retries=RETRIES)

    def done(self, futures: Iterable[ClusterFuture], seconds: float) -> list[ClusterFuture]:
        """Return those of *futures* that are done, at the latest after *seconds*."""
        from distributed import CancelledError, wait

        waiting: Any = wait
        waited = list(futures)
        try:
            with self._client.as_current():
                return list(waiting(waited, timeout=seconds, return_when="FIRST_COMPLETED").done)
        except (TimeoutError, CancelledError):
            return [future for future in waited if future.done()]


@contextmanager
def cluster_at(address: str, name: str) -> Iterator[Cluster]:
    """Connect to the cluster at *address*; *name* is that of this work alone.

    Raises OSError for a cluster that cannot be reached, ImportError without the package distributed.
    """
    from distributed import Client

    make_client: Any = Client
    with make_client(address, set_as_default=False) as client:
        yield Cluster(client, name)


def run_cluster(work: ReplayWork, pieces: Iterable[LogPiece], address: str, progress: Progress) -> Tally:
    """Return the tally of all pieces.  Raises OSError for a cluster or log that cannot be reached,
    ImportError without the package distributed.
    """
    total = Tally()
    waiting = deque[tuple[LogPiece, ClusterFuture]]()
    with cluster_at(address, f"whimbrel-replay-{work.now}") as cluster:
        shared = cluster.share(work)
        for number, piece in enumerate(pieces):
            waiting.append((piece, cluster.submit(_run, number, shared, piece)))
            if len(waiting) >= AHEAD * cluster.threads:
                _take(waiting, total, progress)
        while waiting:
            _take(waiting, total, progress)
    return total


def _take(waiting: deque[tuple[LogPiece, ClusterFuture]], total: Tally, progress: Progress) -> None:
    piece, future = waiting.popleft()
    tally = future.result()
    assert isinstance(tally, Tally)
    total.add(tally)
    progress(piece.end - piece.start)


def _run(work: ReplayWork, piece: LogPiece) -> Tally:
    """Replay *piece* on a worker, which keeps its loaded configurations."""
    from distributed import get_worker

    worker: Any = get_worker()
    replayers = worker.__dict__.setdefault(ATTRIBUTE, {})
    known, replayer = replayers.get(threading.get_ident(), (0.0, None))
    if replayer is None or known != work.now:
        replayer = Replayer(work)
        replayers[threading.get_ident()] = work.now, replayer
    result: Tally = replayer.run(piece)
    return result
