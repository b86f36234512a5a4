"""-X: master and worker in one process, for debuggers."""

from __future__ import annotations

import signal

from whimbrel.server.master.generation import Generation
from whimbrel.server.master.worker_pool import FATAL_SIGNALS, SIGNALS
from whimbrel.server.worker.worker import Worker, become_user


def serve(generation: Generation) -> int:
    """Serve until TERM or INT; return the exit status.

    As in httpd, one process with threads ignores HUP, USR1 and WINCH. Under prefork WINCH ends it, HUP and
    USR1 kill it.
    """
    signal.set_wakeup_fd(-1)
    if not become_user(generation):
        return 1
    for number in (*SIGNALS, *FATAL_SIGNALS):
        signal.signal(number, signal.SIG_DFL)
    Worker(generation, 0).run()
    generation.log(
        "notice", generation.words.term[1], code=generation.words.term[0], module=generation.words.module
    )
    generation.logs.flush()
    return 0
