"""-X: master and worker in one process, for debuggers."""

from __future__ import annotations

import signal

from whimbrel.server.master.generation import Generation
from whimbrel.server.master.messages import PREFORK
from whimbrel.server.master.worker_pool import FATAL_SIGNALS, SIGNALS
from whimbrel.server.worker.worker import Worker


def serve(generation: Generation) -> int:
    """Serve until TERM or INT; return the exit status. The end leaves no line in the log and the PidFile in
    place.

    As in httpd, one process with threads ignores HUP, USR1, WINCH and `FATAL_SIGNALS`. Under prefork WINCH
    ends it, and the others kill it.
    """
    signal.set_wakeup_fd(-1)
    if not generation.become_user():
        return 1
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    for number in FATAL_SIGNALS:
        signal.signal(number, signal.SIG_DFL if generation.words is PREFORK else _ignore)
    Worker(generation, 0).run()
    generation.logs.flush()
    return 0


def _ignore(number: int, frame: object) -> None:
    """Ignore a signal; unlike SIG_IGN, programs do not inherit this."""
