"""Standard output whose reader has ended, as ``head`` does: what is left to write is dropped."""

from __future__ import annotations

import os
import select
import sys


def drop_unread_output() -> bool:
    """Return True if no process reads standard output; what is written to it from here on is dropped.

    The interpreter would report what its buffer has left as an error of the command.
    """
    try:
        number = sys.stdout.fileno()
    except (OSError, ValueError):  # it is closed, or no file of the system
        return False
    poll = select.poll()
    poll.register(number, 0)  # errors are reported without being asked for
    if not any(events & select.POLLERR for _, events in poll.poll(0)):
        return False
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), number)
    return True
