"""Replay on a Dask cluster: the same pieces and the same merge as on one machine.

The workers read the configurations, documents and plain logs at the same paths as here.  Dask does the piece
of a worker that dies again elsewhere.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from typing import Any, Final

from whimbrel.replay.local import Progress
from whimbrel.replay.log_files import LogPiece
from whimbrel.replay.tally import Tally
from whimbrel.replay.work import Replayer, ReplayWork

AHEAD: Final = 4  # pieces for each thread of the cluster that are in work
ATTRIBUTE: Final = "whimbrel_replayers"
"""Attribute of a Dask worker: by thread, its Replayer with the time of the work that it is for."""


def run_cluster(work: ReplayWork, pieces: Iterable[LogPiece], address: str, progress: Progress) -> Tally:
    """Return the tally of all pieces.  Raises OSError for a cluster or log that cannot be reached,
    ImportError without the package distributed.
    """
    from distributed import Client

    total = Tally()
    waiting = deque[tuple[LogPiece, Any]]()
    make_client: Any = Client
    with make_client(address, set_as_default=False) as client:
        threads = sum(client.nthreads().values()) or 1
        shared = client.scatter(work, broadcast=True, hash=False)
        for number, piece in enumerate(pieces):
            future = client.submit(_run, shared, piece, key=f"whimbrel-replay-{work.now}-{number}", retries=2)
            waiting.append((piece, future))
            if len(waiting) >= AHEAD * threads:
                _take(waiting, total, progress)
        while waiting:
            _take(waiting, total, progress)
    return total


def _take(waiting: deque[tuple[LogPiece, Any]], total: Tally, progress: Progress) -> None:
    piece, future = waiting.popleft()
    total.add(future.result())
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
