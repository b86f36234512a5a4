"""One generation of workers: the objects that the master builds from a configuration and workers inherit by
fork.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from whimbrel.base.dialect import Dialect
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.catalogue.log_sources import source_of
from whimbrel.config.configuration import Configuration
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.config.model import LogSink, ServerSpec
from whimbrel.engine.engine import Engine
from whimbrel.engine.identity import FULL
from whimbrel.engine.log.error_log_format import ErrorFormats, LogRecord
from whimbrel.engine.log.error_log_line import LogContext, LogLine, enabled, error_line
from whimbrel.registry.module import PROGRAMS
from whimbrel.server.logs.logs import Logs
from whimbrel.server.master import messages, privileges
from whimbrel.server.master.sockets import Key
from whimbrel.server.worker.runtime import ServerRuntime
from whimbrel.server.worker.scoreboard import ServerInfo, SharedScoreboard
from whimbrel.server.worker.state import scan_period

if TYPE_CHECKING:
    from whimbrel.registry.programs import SharedProgram


@dataclass(slots=True)
class Generation:
    """Objects that all workers of one generation share.

    Attributes:
        scan_period: seconds between two scans of the deadlines in a worker
        programs: programs shared by all workers
    """

    configuration: Configuration
    engine: Engine
    runtime: ServerRuntime
    logs: Logs
    sockets: dict[Key, socket.socket]
    board: SharedScoreboard
    life: ServerInfo
    programs: list[SharedProgram] = field(default_factory=list)
    scan_period: float = field(init=False)

    def __post_init__(self) -> None:
        """Compute what needs all servers once: workers share pages that they do not change."""
        self.scan_period = scan_period(self.configuration)
        if self.configuration.hosts is not None:
            for port in {port for _address, port in self.sockets}:
                self.configuration.hosts.prepare(port)

    def start_programs(self) -> None:
        """Start the programs that workers share. Raises PostConfigError."""
        try:
            for start in self.configuration.modules.providers(PROGRAMS).values():
                self.programs += start(self.configuration, self)
        except BaseException:
            self.release_programs(at_once=True)
            raise
        self.runtime.programs = {program.name: program for program in self.programs}

    def release_programs(self, *, at_once: bool) -> None:
        """Release the shared programs; *at_once* ends them, otherwise they end with the last worker."""
        programs, self.programs = self.programs, []
        for program in programs:
            program.release(at_once=at_once)

    def program_ended(self, pid: int) -> None:
        """Replace the process *pid*, which has ended: a shared program, or one that a log is piped to."""
        if not any(program.ended(pid) for program in self.programs):
            self.logs.program_ended(pid)

    def fork(self, work: Callable[[], None], keep: Iterable[int], *, as_root: bool = False) -> int:
        from whimbrel.server.master.program_host import fork_program  # few configurations need it

        return fork_program(self, _stay_root if as_root else self.become_user, work, keep)

    def become_user(self) -> bool:
        """Give up root; return False after a failure, which is logged."""
        try:
            privileges.drop(self.spec)
        except privileges.DropError as problem:
            self.log("alert", problem.text, code=problem.code, module="unixd", cause=problem.cause)
            return False
        return True

    @property
    def spec(self) -> ServerSpec:
        """Process settings of the configuration."""
        return self.configuration.spec

    @property
    def dialect(self) -> Dialect:
        """Dialect of the configuration."""
        return self.configuration.dialect

    @property
    def identity(self) -> str:
        """Name of the server in its own log."""
        return FULL

    def log(self, level: str, text: str, *, code: str = "", module: str = "core", cause: str = "") -> None:
        """Write a line without a request to the error log; notices are always written."""
        levels = self.configuration.main.config(CoreServerConfig).log_level
        if level != "notice" and not enabled(levels, module, level):
            return
        core = self.configuration.main.config(CoreServerConfig)
        now = self.runtime.now()
        runtime = self.runtime
        line = LogLine(
            level,
            text,
            code if self.dialect.messages_24 else "",
            module,
            cause,
            source=source_of(module, code, text),
        )
        if core.error_log_format is not None:
            message = LogRecord(line, now, runtime.pid, self.configuration.main)
            self.logs.write(self.error_log, ErrorFormats(core.error_log_format, {}).line(message))
        else:
            self.logs.write(
                self.error_log,
                error_line(line, LogContext(now, runtime.pid, runtime.tid), new=self.dialect.messages_24),
            )

    @property
    def error_log(self) -> LogSink:
        """Error log of the main server."""
        sink = self.spec.error_log
        return sink if sink is not None else LogSink("/dev/stderr")

    @property
    def words(self) -> messages.MpmMessages:
        """Life-cycle messages of the loaded MPM."""
        loaded = self.configuration.loaded
        if loaded("mpm_prefork_module") or not self.dialect.messages_24:
            return messages.PREFORK
        return messages.WORKER if loaded("mpm_worker_module") else messages.EVENT


def _stay_root() -> bool:
    """Return True: the keeper of programs with users of their own stays root."""
    return True
