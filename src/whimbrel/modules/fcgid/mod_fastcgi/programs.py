"""Processes of mod_fastcgi: static applications, messages of its process manager."""

from __future__ import annotations

import os
import signal
from typing import Any

from whimbrel.base.errors import PostConfigError
from whimbrel.config.configuration import Configuration
from whimbrel.modules.fcgid.mod_fastcgi.settings import FastcgiServer, FastcgiServerConfig
from whimbrel.modules.support.cgi.environment import DEFAULT_PATH
from whimbrel.modules.support.processes.manager import NotStarted, ProcessManager
from whimbrel.modules.support.processes.messages import KeeperMessages, cause_of
from whimbrel.modules.support.processes.program import DeathReason, KeeperLimits, Launch, StaticProgram
from whimbrel.registry.programs import ProgramHost


class FastcgiKeeperMessages(KeeperMessages):
    """Messages of fcgi-pm."""

    module = "fastcgi"

    def keeper_started(self, pid: int) -> None:
        self.log("notice", f"FastCGI: process manager initialized (pid {pid})")

    def keeper_stopped(self, pid: int) -> None:
        """See KeeperMessages."""

    def started(self, name: str, pid: int) -> None:
        self.log("warn", f'FastCGI: server "{name}" started (pid {pid})')

    def not_started(self, name: str, problem: Exception) -> None:
        self.log(
            "crit", f'FastCGI: can\'t start server "{name}": spawn_fs_process() failed', cause_of(problem)
        )

    def skipped(self, reason: str) -> None:
        self.log("info", f"FastCGI: {reason}")

    def terminated(self, count: int) -> None:
        """See KeeperMessages."""

    def killed(self, pid: int) -> None:
        self.log("warn", f"FastCGI: process {pid} did not end, sending a SIGKILL")

    def ended(self, name: str, pid: int, reason: DeathReason, status: int) -> None:
        code = os.waitstatus_to_exitcode(status)
        if code >= 0:
            how = f"terminated by calling exit with status '{code}'"
        else:
            how = f"terminated due to uncaught signal '{-code}' ({signal.strsignal(-code)})"
        self.log("warn", f'FastCGI: server "{name}" (pid {pid}) {how}')


class StaticApplication(StaticProgram):
    """An application of FastCgiServer."""

    def __init__(self, server: FastcgiServer, number: int) -> None:
        self.server = server
        self.name = server.path
        self.socket_name = f"static{number}"
        self.count = server.processes
        self.restart_delay = server.restart_delay
        self.backlog = server.queue

    def launch(self, path: str, handle: int, _reports: int) -> Launch:
        environment = {"PATH": os.environ.get("PATH", DEFAULT_PATH), **dict(self.server.environment)}
        return Launch([self.server.path], environment, os.path.dirname(self.server.path))


def start_programs(configuration: Configuration, host: ProgramHost) -> list[Any]:
    """Start the process manager. Raises PostConfigError."""
    conf = configuration.main.config(FastcgiServerConfig)
    own = [server for server in conf.servers.values() if server.address is None]
    statics: list[StaticProgram] = [StaticApplication(server, at) for at, server in enumerate(own)]
    limits = KeeperLimits(most=conf.dynamic.most, score_limit=conf.dynamic.most, idle_scan=10.0)
    manager = ProcessManager(
        "fastcgi",
        limits,
        FastcgiKeeperMessages,
        statics=statics,
        slots=conf.dynamic.most,
        parent=conf.ipc_dir,
    )
    try:
        manager.start(host)
    except (NotStarted, OSError) as problem:
        text = f"FastCGI: can't initialize the process manager: {problem}"
        raise PostConfigError("fastcgi", ("crit", text), coded=False) from None
    return [manager]
