"""Lines of the error log about processes of applications, in mod_wsgi's words."""

from __future__ import annotations

import os

from whimbrel.modules.support.processes.messages import KeeperMessages, cause_of
from whimbrel.modules.support.processes.program import DeathReason
from whimbrel.registry.programs import ProgramHost

INTERPRETERS = ("bin/python", "bin/python3")  # of a Python home
EMBEDDED_TEXT = (
    "mod_wsgi: applications in embedded mode run in processes of their own, outside of the workers"
)


class WsgiMessages(KeeperMessages):
    """Messages of mod_wsgi's process manager."""

    module = "wsgi"

    def __init__(self, host: ProgramHost) -> None:
        super().__init__(host)
        self._has_logged_embedded = False

    def keeper_started(self, pid: int) -> None:
        """See KeeperMessages."""

    def keeper_stopped(self, pid: int) -> None:
        """See KeeperMessages."""

    def started(self, name: str, pid: int) -> None:
        """See KeeperMessages; *name* is the label of the program."""
        if name.startswith("''") and not self._has_logged_embedded:
            self._has_logged_embedded = True
            self.log("notice", EMBEDDED_TEXT)
        self.log("info", f"mod_wsgi (pid={pid}): Starting process {name}")

    def not_started(self, name: str, problem: Exception) -> None:
        if isinstance(problem, FileNotFoundError):
            path = os.fsdecode(problem.filename)
            is_python = path.endswith(INTERPRETERS)
            what = "stat Python home" if is_python else "change working directory to"
            self.log("error", f"mod_wsgi (pid={os.getpid()}): Unable to {what} '{path}'.")
        self.log("alert", f"mod_wsgi: Couldn't spawn process '{name}'.", cause_of(problem))

    def skipped(self, reason: str) -> None:
        self.log("error", f"mod_wsgi: {reason}")

    def silent(self, name: str, pid: int) -> None:
        text = f"Daemon process deadlock timer expired, stopping process '{name}'."
        self.log("info", f"mod_wsgi (pid={pid}): {text}")

    def ended(self, name: str, pid: int, reason: DeathReason, status: int) -> None:
        start = f"mod_wsgi (pid={pid}): Process '{name}'"
        if reason == DeathReason.SHUTDOWN:
            self.log("info", f"{start} to be deregistered, as server is restarting or being shutdown.")
            self.log("info", f"{start} has been deregistered and will no longer be monitored.")
            return
        self.log("info", f"{start} has died, deregister and restart it.")
        code = os.waitstatus_to_exitcode(status)
        if code >= 0:
            self.log("info", f"{start} terminated normally, exit code {code}")
        else:
            self.log("info", f"{start} terminated by signal {-code}")
        self.log("info", f"{start} has been deregistered and will no longer be monitored.")
