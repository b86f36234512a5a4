"""Checks of passwords against hashes that somebody else chose: a hash says itself how long its check takes.

That may be days, in one call of a library that nothing interrupts. So a check whose hash has no small bound
runs in a process of its own, with a limit of processor time, which is forked from a process without threads:
a lock that another thread holds is never released in the copy. What the answer of a probe does not depend on
is not checked at all.
"""

from __future__ import annotations

import os
import re
import signal
import threading
from typing import Final

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.engine.runtime import PasswordCheck
from whimbrel.verify.probe import RIGHT_PASSWORD, WRONG_PASSWORD

MAX_SECONDS: Final = 2
"""Processor time of one check."""
MAX_UNFINISHED: Final = 3
"""Checks that may reach the limit; after that none is begun."""
MAX_CHECKS: Final = 1000
"""Results that are remembered, and stored passwords without one."""
_SHORT: Final = re.compile(
    r"\{SHA\}.*|\$apr1\$.*|\$1\$.*|[./0-9A-Za-z]{13}|\$2[aby]\$(?:0\d|1[0-2])\$.*|\$[56]\$(?!rounds=).*"
    r"|\$[56]\$rounds=\d{1,5}\$.*|\$y\$j[./0-9A-C]T\$.*",
    re.ASCII | re.DOTALL,
)
"""Hashes whose check takes at most a fraction of a second: without a cost, or with a small one."""


class PasswordChecks:
    """The checks of one side.

    Attributes:
        undecided: the first stored passwords whose check took too long, or was not begun.
    """

    def __init__(self) -> None:
        self.undecided = set[str]()
        self._unfinished = 0
        self._known: BoundedDict[tuple[str, str], bool] = BoundedDict(MAX_CHECKS)

    def is_right(self, check: PasswordCheck, password: str, stored: str) -> bool | None:
        """Return True if *password* matches *stored*, None if that was not found out.

        The passwords of probes match nothing: `verify.assumptions` says what they are.
        """
        if password in (RIGHT_PASSWORD, WRONG_PASSWORD):
            return False
        found = self._known.get((password, stored))
        if found is not None:
            return found
        if _SHORT.fullmatch(stored):
            found = check(password, stored)
        elif stored not in self.undecided and self._unfinished < MAX_UNFINISHED and not _has_threads():
            found = _checked(check, password, stored)
            self._unfinished += found is None
        if found is not None:
            self._known[password, stored] = found
        elif len(self.undecided) < MAX_CHECKS:
            self.undecided.add(stored)
        return found


def _has_threads() -> bool:
    """Return True if this process has more than one thread, those of libraries included where they show."""
    try:
        return len(os.listdir("/proc/self/task")) > 1
    except OSError:  # a system without /proc
        return threading.active_count() > 1


def _checked(check: PasswordCheck, password: str, stored: str) -> bool | None:
    """Check in a new process; return None if it reaches its limit, or where no process can be limited."""
    if not hasattr(os, "fork"):
        return None
    import resource

    pid = os.fork()
    if not pid:
        status = 2
        try:
            signal.signal(signal.SIGXCPU, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_CPU, (MAX_SECONDS, MAX_SECONDS))
            status = int(check(password, stored))
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return bool(status) if status in (0, 1) else None
