"""Checks of passwords against hashes that somebody else chose: a hash says itself how long its check takes.

That may be days, in one call of a library that nothing interrupts. So a check runs in a process of its own,
with a limit of processor time. What the answer of a probe does not depend on is not checked at all.
"""

from __future__ import annotations

import os
import signal
from typing import Final

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.engine.runtime import PasswordCheck
from whimbrel.verify.probe import RIGHT_PASSWORD, WRONG_PASSWORD

MAX_SECONDS: Final = 2
"""Processor time of one check."""
MAX_UNFINISHED: Final = 3
"""Checks that may reach the limit; after that none is begun."""
MAX_CHECKS: Final = 1000
"""Results that are remembered."""


class PasswordChecks:
    """The checks of one side.

    Attributes:
        unfinished: the first stored passwords whose check took too long.
    """

    def __init__(self) -> None:
        self.unfinished = set[str]()
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
        if stored in self.unfinished or len(self.unfinished) >= MAX_UNFINISHED:
            return None
        found = _checked(check, password, stored)
        if found is None:
            self.unfinished.add(stored)
        else:
            self._known[password, stored] = found
        return found


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
