"""Lines of the error log about kept processes, in mod_fcgid's words; other modules replace them."""

from __future__ import annotations

import os
import signal
from typing import Final

from whimbrel.modules.support.processes.program import DeathReason
from whimbrel.registry.programs import ProgramHost

_REASONS: Final = {
    DeathReason.KILLED_SELF: "normal exit",
    DeathReason.IDLE_TIMEOUT: "idle timeout",
    DeathReason.LIFETIME_EXPIRED: "lifetime expired",
    DeathReason.BUSY_TIMEOUT: "busy timeout",
    DeathReason.CONNECT_ERROR: "connect error",
    DeathReason.COMM_ERROR: "communication error",
    DeathReason.SHUTDOWN: "shutting down",
}
_ORDERED: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGKILL)


class KeeperMessages:
    """Messages of mod_fcgid's process manager."""

    module = "fcgid"

    def __init__(self, host: ProgramHost) -> None:
        self.host = host

    def log(self, level: str, text: str, cause: str = "") -> None:
        """Write a line without a request."""
        self.host.log(level, text, module=self.module, cause=cause)

    def keeper_started(self, pid: int) -> None:
        """Log that the keeper runs."""
        self.log("info", f"mod_fcgid: Process manager {pid} started")

    def keeper_stopped(self, pid: int) -> None:
        """Log that the keeper has stopped its processes."""
        self.log("info", f"mod_fcgid: Process manager {pid} stopped")

    def started(self, name: str, pid: int) -> None:
        """Log that a process runs."""
        self.log("info", f"mod_fcgid: server {name}({pid}) started")

    def not_started(self, name: str, problem: Exception) -> None:
        """Log that a process cannot be started."""
        self.log("error", f"mod_fcgid: can't run {name}", cause=cause_of(problem))

    def skipped(self, reason: str) -> None:
        """Log that no process was started, as a limit is reached."""
        self.log("info", f"mod_fcgid: {reason}")

    def reported(self, level: str, text: str) -> None:
        """Write a line that a process has sent."""
        self.log(level, text)

    def silent(self, name: str, pid: int) -> None:
        """Log that a process is ended because it gave no sign of life."""
        self.log("warn", f"process {name}({pid}) gives no sign of life, sending SIGKILL")

    def terminated(self, count: int) -> None:
        """Log how many processes got SIGTERM in one scan."""
        self.log("debug", f"mod_fcgid: gracefully terminated {count} processes")

    def killed(self, pid: int) -> None:
        """Log that a process did not end in time."""
        self.log("warn", f"mod_fcgid: process {pid} graceful kill fail, sending SIGKILL")

    def ended(self, name: str, pid: int, reason: DeathReason, status: int) -> None:
        """Log how a process has ended; *status* is that of waitpid(2)."""
        code = os.waitstatus_to_exitcode(status)
        why = _REASONS[reason]
        level = "info"
        if code >= 0:
            how = f"terminated by calling exit(), return code: {code}"
            if reason == DeathReason.CONNECT_ERROR:
                why = "server exited"
        elif -code in _ORDERED:
            how = f"get stop signal {-code}"
        else:
            level = "error"
            is_dumped = os.WCOREDUMP(status)
            how = (
                f"get signal {-code}, possible coredump generated"
                if is_dumped
                else f"get unexpected signal {-code}"
            )
        self.log(level, f"mod_fcgid: process {name}({pid}) exit({why}), {how}")


def cause_of(problem: Exception) -> str:
    """Return an errno with its text, "" for a problem without one."""
    number = getattr(problem, "errno", None)
    return f"({number}){os.strerror(number)}" if number else ""
