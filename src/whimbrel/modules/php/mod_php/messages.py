"""Lines of the error log about processes of PHP."""

from __future__ import annotations

import os

from whimbrel.modules.support.processes.messages import KeeperMessages, cause_of
from whimbrel.modules.support.processes.program import DeathReason


class PhpMessages(KeeperMessages):
    """Messages about php-fpm and php-cgi."""

    module = "php"

    def keeper_started(self, pid: int) -> None:
        """See KeeperMessages."""

    def keeper_stopped(self, pid: int) -> None:
        """See KeeperMessages."""

    def started(self, name: str, pid: int) -> None:
        self.log("debug", f"{name} started (pid {pid})")

    def not_started(self, name: str, problem: Exception) -> None:
        self.log("error", f"{name} cannot be started", cause_of(problem))

    def skipped(self, reason: str) -> None:
        self.log("debug", reason)

    def terminated(self, count: int) -> None:
        """See KeeperMessages."""

    def killed(self, pid: int) -> None:
        self.log("warn", f"pid {pid} still did not exit, sending a SIGKILL")

    def ended(self, name: str, pid: int, reason: DeathReason, status: int) -> None:
        is_ordered = reason in (DeathReason.SHUTDOWN, DeathReason.IDLE_TIMEOUT)
        code = os.waitstatus_to_exitcode(status)
        how = f"exit status {code}" if code >= 0 else f"signal {-code}"
        self.log("debug" if is_ordered else "error", f"{name} (pid {pid}) ended with {how}")
