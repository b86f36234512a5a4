"""`whimbrel serve --dialect both`: one process for each version of httpd, and one that waits for them."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Final

from whimbrel.utilities.usage_error import UsageError

OFFSETS: Final = {"2.2": 0, "2.4": 1}
"""What is added to each port, by dialect."""


def run_both(serve: Callable[[str], int]) -> int:
    """Run *serve* in a process for each dialect until one of them ends; return the worst exit status."""
    children: dict[int, str] = {}

    def end(_number: int, _frame: object) -> None:
        for pid in children:
            os.kill(pid, signal.SIGTERM)

    sys.stdout.flush()
    for dialect in OFFSETS:
        pid = os.fork()
        if not pid:
            status = 1
            try:
                status = serve(dialect)
            except UsageError as problem:
                status = 2
                sys.stderr.write(f"whimbrel serve: {problem.message}\n")
            except Exception:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                os._exit(status)
        children[pid] = dialect
    signal.signal(signal.SIGINT, end)
    signal.signal(signal.SIGTERM, end)
    statuses = []
    while children:
        pid, code = os.wait()
        if children.pop(pid, None) is not None:
            statuses.append(max(0, os.waitstatus_to_exitcode(code)))
            end(0, None)
    return max(statuses)
