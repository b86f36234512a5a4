"""An httpd-compatible program at a site: start, stop, and calls with other arguments."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.backends import is_listening
from tests.conformance.case import Version
from tests.conformance.client import Client
from tests.conformance.site import BUILT_IN, Modules, RecordedSite
from tests.support import warm_server

START_TIMEOUT = 20.0
STOP_TIMEOUT = 8.0
COMMAND_TIMEOUT = 60.0
LOG_TIMEOUT = 0.2
APACHE = Path("/usr/sbin/apache2")
APACHE_MODULES = Path("/usr/lib/apache2/modules")
MODULE_DIRECTORY = "/usr/lib/whimbrel/modules"
PID_FILE = "logs/httpd.pid"
Condition = Callable[[], bool]
_LISTEN = re.compile(r"(?im)^\s*Listen\s+(?:\S*:)?(\d+)")


@dataclass(frozen=True)
class Program:
    """The command line of a program under test, and its modules."""

    argv: tuple[str, ...]
    modules: Modules

    @classmethod
    def of(
        cls,
        command: str,
        version: Version,
        directory: str = MODULE_DIRECTORY,
        built_in: frozenset[str] | None = None,
    ) -> Program:
        """The program of a command line; by default with the built-in modules of the recorded *version*."""
        return cls(
            tuple(absolute(command)), Modules(directory, BUILT_IN[version] if built_in is None else built_in)
        )


def apache() -> Program:
    """Debian's apache2 2.4, the recorded server."""
    return Program((str(APACHE),), Modules(str(APACHE_MODULES), BUILT_IN["2.4"]))


def absolute(command: str) -> list[str]:
    """The words of a command, a file as the first made absolute: programs run in their server root."""
    argv = shlex.split(command)
    if os.path.exists(argv[0]):
        argv[0] = os.path.abspath(argv[0])
    return argv


class ProgramServer:
    """A program that serves a site.

    Attributes:
        process: the started process, which leads its own process group.
    """

    def __init__(self, program: Program, site: RecordedSite) -> None:
        self.program, self.site = program, site
        self.client = Client(site)
        self.process: subprocess.Popen[bytes] | warm_server.WarmServer | None = None

    def __enter__(self) -> ProgramServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def argv(self, *more: str) -> list[str]:
        """The command line for the site's configuration."""
        root = self.site.root
        files = ["-C", f'Include "{root}/conf/preamble.conf"', "-f", f"{root}/conf/httpd.conf"]
        return [
            *self.program.argv,
            "-d",
            root,
            *files,
            *(f"-D{name}" for name in self.site.case.defines),
            *more,
        ]

    def call(self, *arguments: str, timeout: float = COMMAND_TIMEOUT) -> subprocess.CompletedProcess[bytes]:
        """Run the program to its end; at a timeout kill its process group and raise TimeoutExpired."""
        child = subprocess.Popen(
            self.argv(*arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.site.environment(),
            cwd=self.site.root,
            start_new_session=True,
        )
        try:
            out, err = child.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            kill_group(child.pid)
            child.communicate()
            raise
        return subprocess.CompletedProcess(child.args, child.returncode, out, err)

    def start(self) -> bool:
        """Start the program; return True once it listens and has a PID file, False if the start fails."""
        self.process = warm_server.start(
            self.argv("-DFOREGROUND"),
            output=self.site.path("stderr.txt"),
            cwd=self.site.root,
            environment=self.site.environment(),
        )
        ports = {self.site.ports[0], *map(int, _LISTEN.findall(self.site.preamble + self.site.conf))}
        if not self._wait(lambda: any(map(is_listening, ports)), START_TIMEOUT):
            return False
        self._wait(lambda: os.path.exists(self.site.path(PID_FILE)), 3.0)
        time.sleep(0.1)
        return self.is_running()

    def wait_for_logs(self, lines: int) -> None:
        """Wait for the last of *lines* lines of the access log, `LOG_TIMEOUT` at most."""
        self._wait(lambda: 0 < lines <= self.site.read("logs/access_log").count("\n"), LOG_TIMEOUT)

    def is_running(self) -> bool:
        """Return True if the started process has not ended."""
        return self.process is not None and self.process.poll() is None

    def stop(self) -> None:
        """Close connections, end the program and its process group, and a server that `-k start` started."""
        self.client.close()
        self._stop_daemon()
        if self.process is None:
            return
        try:
            if self.is_running():
                self.process.terminate()
                self.process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            pass  # the process group is killed below
        finally:
            kill_group(self.process.pid)
            self.process.wait(5)
            self.process = None

    def _wait(self, condition: Condition, seconds: float) -> bool:
        """Wait for *condition*; False if the program ends or the time passes before."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.is_running():
            if condition():
                return True
            time.sleep(0.02)
        return False

    def _stop_daemon(self) -> None:
        """Signal the process of the PID file if its command line names this server root."""
        try:
            pid = int(self.site.read(PID_FILE).strip())
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except (OSError, ValueError):
            return
        if self.site.root.encode() in command and (self.process is None or pid != self.process.pid):
            signal_process(pid, signal.SIGTERM)
            time.sleep(0.5)


def signal_process(pid: int, number: int) -> None:
    """Send a signal to a process that may have ended."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def kill_group(leader: int) -> None:
    """Kill every process of a group; its leader is a child of this process that was not waited for."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def run_utility(argv: Sequence[str], site: RecordedSite) -> subprocess.CompletedProcess[bytes]:
    """Run a utility in the server root with the standard input of the case."""
    environment = {**site.environment(), "HOME": site.root}
    return subprocess.run(
        argv,
        input=site.expand(site.case.stdin).encode(),
        capture_output=True,
        cwd=site.root,
        env=environment,
        timeout=COMMAND_TIMEOUT,
        start_new_session=True,
        check=False,
    )
