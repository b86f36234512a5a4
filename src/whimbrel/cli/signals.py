"""-k, and the start of a server whose configuration is valid. Manual: programs/httpd.html, stopping.html."""

from __future__ import annotations

import os
import sys
import time

from whimbrel.base.errors import PostConfigError, StartError, apr_error
from whimbrel.base.latin1 import from_system
from whimbrel.base.static_typing import TYPE_CHECKING
from whimbrel.cli import version_text
from whimbrel.cli.config_loader import ConfigLoader
from whimbrel.config.configuration import Configuration
from whimbrel.config.mpm_config import MpmConfig
from whimbrel.server.master import pidfile
from whimbrel.server.master.messages import with_code

if TYPE_CHECKING:
    import _socket
    from collections.abc import Mapping

_SIGNAL_NAMES = {"stop": "SIGTERM", "restart": "SIGHUP", "graceful": "SIGUSR1", "graceful-stop": "SIGWINCH"}


def signal_running(configuration: Configuration, word: str) -> int | None:
    """Signal the server of this PidFile as -k *word* requests ("" for none); return the exit status, None to
    start one. Raises StartError.
    """
    dialect = configuration.dialect
    path = configuration.spec.pid_file
    shown = configuration.main.config(MpmConfig).pid_file or path
    try:
        number = pidfile.read(path)
    except pidfile.BadPidFile as problem:
        raise StartError(
            with_code(
                dialect,
                "AH00058",
                f"Error retrieving pid file {shown}",
                apr_error(problem.cause)
                if problem.cause is not None
                else "(20014)Internal error (specific information not available)",
            ),
            with_code(dialect, "AH00059", "Remove it before continuing if it is corrupted."),
        ) from None
    running = number is not None and pidfile.alive(number)
    status = f"httpd (pid {number}{'' if running else '?'})" if number is not None else "httpd (no pid file)"
    if word in ("stop", "graceful-stop"):
        if not running or number is None:
            sys.stdout.write(f"{status} not running\n")
        else:
            _send(number, word)
            if word == "stop":
                _wait_for_end(number)
        return 0
    if running and number is not None:
        if word in ("", "start"):
            sys.stdout.write(f"{status} already running\n")
        else:
            _send(number, word)
        return 0
    if word in ("restart", "graceful"):
        sys.stdout.write(
            "httpd not running, trying to start\n" * 2
        )  # httpd prints this line twice, and scripts match it
        sys.stdout.flush()
    return None


def _send(number: int, word: str) -> None:
    """Send the signal of -k *word*."""
    import signal  # imported late: a start needs the sockets first

    os.kill(number, signal.Signals[_SIGNAL_NAMES[word]])


def _wait_for_end(number: int) -> None:
    """Wait up to half a second for the end of a process. httpd does not wait; scripts that stop and start are
    safer so.
    """
    end = time.monotonic() + 0.5
    while pidfile.alive(number) and time.monotonic() < end:
        time.sleep(0.02)


def start(loader: ConfigLoader, configuration: Configuration) -> int:
    """Start the server. In the background this returns when the PidFile exists. Raises StartError."""
    loader.require_implemented()
    arguments = loader.arguments
    shown = " ".join(map(from_system, arguments.log_words))
    early = _open_sockets(configuration)
    from whimbrel.server.master.command_line import show_command_line
    from whimbrel.server.master.master import Master, StartOptions
    from whimbrel.server.master.sockets import to_sockets

    show_command_line(sys.argv)
    starters: list[int] = []  # the pipe on which the starting process waits
    options = StartOptions(
        loader.reload,
        shown,
        single=arguments.is_single_process or _one_process(arguments.defines),
        detached=not arguments.foreground,
        built=version_text.built(),
        ready=lambda: _release(starters),
    )
    master = Master(options)
    master.sockets = to_sockets(early)
    if not arguments.foreground:
        starters.append(_detach())
    elif "NO_DETACH" in arguments.defines and "FOREGROUND" not in arguments.defines and not options.single:
        os.chdir("/")
    try:
        master.prepare(configuration)
    except PostConfigError as problem:
        master.report_failure(problem, repeat_in_log=problem.repeat_in_log)
        return 1
    return master.run()


def _open_sockets(configuration: Configuration) -> Mapping[tuple[str, int], _socket.socket]:
    """Open the listening sockets before the server is imported: clients may connect from here on.

    Raises StartError.
    """
    from whimbrel.server.master import privileges, sockets

    if configuration.loaded("systemd_module"):
        from whimbrel.server.master import systemd

        if given := systemd.listen_fds(os.environ):
            return given
    privileges.check(configuration.spec, configuration.dialect)
    return sockets.bind_all(
        configuration.spec.listeners, {}, configuration.spec.backlog, configuration.dialect
    )


def report_refusal(loader: ConfigLoader, problem: PostConfigError) -> int:
    """Open the error log and log why a post_config step failed; return the exit status. Raises StartError."""
    configuration = loader.configuration
    if configuration is None or signal_running(configuration, loader.arguments.signal) is not None:
        return 0
    from whimbrel.server.master.master import Master, StartOptions

    master = Master(StartOptions(loader.reload, ""))
    master.prepare(configuration, serves=False)
    master.report_failure(problem, repeat_in_log=problem.repeat_in_log)
    return 1


def _one_process(defines: list[str]) -> bool:
    return bool({"ONE_PROCESS", "DEBUG"} & set(defines))


def _detach() -> int:
    """Continue in a new process and session, in the directory /.

    The first process ends when a byte arrives on the descriptor that this returns, or with the second
    process. The logs are opened afterwards, so log programs are children of the server, which restarts them.
    """
    ready_in, ready_out = os.pipe()
    pid = os.fork()
    if pid:
        os.close(ready_out)
        if os.read(ready_in, 1):
            os._exit(0)
        os._exit(max(1, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])))
    os.close(ready_in)
    os.setsid()
    os.chdir("/")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)
    return ready_out


def _release(starters: list[int]) -> None:
    while starters:
        handle = starters.pop()
        os.write(handle, b"+")
        os.close(handle)
