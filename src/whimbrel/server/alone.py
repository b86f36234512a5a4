"""-X: master and worker in one process, for debuggers."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from whimbrel.config.messages import format_error
from whimbrel.errors import ConfigError, StartError
from whimbrel.octets import raw
from whimbrel.server import privileges
from whimbrel.server.worker import Worker

if TYPE_CHECKING:
    from whimbrel.server.master import Master


def serve(master: Master) -> int:
    """Serve until told to end; HUP and USR1 begin again with the configuration as it is then.  The exit status."""
    signal.set_wakeup_fd(-1)
    privileges.drop(master.generation.spec)
    while True:
        reason = Worker(master.generation, 0).run()
        generation = master.generation
        words = generation.words
        restarts = reason in (signal.SIGHUP, signal.SIGUSR1)
        said = {signal.SIGHUP: words.hup, signal.SIGUSR1: words.usr1, signal.SIGWINCH: words.winch}.get(signal.Signals(reason), words.term)
        generation.log("notice", said[1], code=said[0], module=words.module)
        generation.logs.flush()
        if not restarts:
            return 0
        try:
            master.prepare(master.options.load())
        except (ConfigError, StartError) as problem:
            os.write(2, raw(format_error(problem, generation.dialect, generation.configuration.program)) + b"\n")
            return 1
        master.say_hello()
