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
    ordered = 0

    def end(_number: int, _frame: object) -> None:
        nonlocal ordered
        ordered = signal.SIGTERM
        for pid in children:
            os.kill(pid, signal.SIGTERM)

    def reload(number: int, _frame: object) -> None:
        for pid in children:
            os.kill(pid, number)

    sys.stdout.flush()
    for dialect in OFFSETS:
        pid = os.fork()
        if not pid:
            status = 1
            try:
                status = serve(dialect)
            except (KeyboardInterrupt, SystemExit):
                status = 0
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
    for number in (signal.SIGHUP, signal.SIGUSR1):
        signal.signal(number, reload)
    statuses = []
    while children:
        pid, code = os.wait()
        dialect = children.pop(pid, "")
        if dialect:
            status = os.waitstatus_to_exitcode(code)
            if ordered and status == -ordered:
                status = 0  # a signal of this process, before the server could handle it
            elif status < 0:
                sys.stderr.write(f"whimbrel serve: the server of {dialect} was ended by signal {-status}\n")
            statuses.append(status if status >= 0 else 1)
            end(0, None)
    return max(statuses)
