"""`whimbrel serve --watch`: a process that reloads the server after a valid change of its configuration.

It starts before the server has sockets, so that it holds none. Each change is read in a process of its own:
what reading leaves behind ends with that process, and an invalid text never reaches the server.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable
from typing import Final

from whimbrel.base.errors import ConfigError, StartError
from whimbrel.base.latin1 import to_system
from whimbrel.cli.config_loader import ConfigLoader, print_error
from whimbrel.config.configuration import Configuration
from whimbrel.server.master import pidfile
from whimbrel.utilities.usage_error import UsageError

NEEDED: Final = "--watch needs the package watchfiles: pip install 'whimbrel[watch]'"
POLL: Final = 1000
"""Milliseconds after which the process looks whether the server still runs."""


def require_watchfiles() -> None:
    """Raise UsageError if the optional package is not installed."""
    try:
        import watchfiles  # noqa: F401
    except ImportError:
        raise UsageError(NEEDED) from None


def watched_directories(configuration: Configuration) -> list[str]:
    """Return the directories of the files that were read, and those of the files that links lead to."""
    paths = [to_system(included.path) for included in configuration.includes]
    own = {os.path.realpath(os.path.dirname(path)) for path in paths}
    return sorted(own | {os.path.dirname(os.path.realpath(path)) for path in paths})


def start(loader: ConfigLoader, configuration: Configuration) -> int:
    """Start the process; return its process ID in this process."""
    directories = watched_directories(configuration)
    pid_file = configuration.spec.pid_file
    server = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the server, which this process notices
        follow(directories, lambda: os.getppid() == server, lambda: reload(loader, pid_file, server))
    finally:
        os._exit(0)


def follow(directories: Iterable[str], runs: Callable[[], bool], on_change: Callable[[], None]) -> None:
    """Call *on_change* after each change in *directories*, as long as *runs* returns True."""
    from watchfiles import watch

    for changes in watch(*directories, recursive=False, rust_timeout=POLL, yield_on_timeout=True):
        if not runs():
            return
        if changes:
            on_change()


def reload(loader: ConfigLoader, pid_file: str, server: int) -> None:
    """Read the configuration; restart the server gracefully if it is valid, else print the error."""
    if not is_valid(loader):
        return
    try:
        if pidfile.read(pid_file) == server:  # from here on the server handles the signal
            os.kill(server, signal.SIGUSR1)
            print("The configuration has changed and is valid: reloaded.", flush=True)
    except (pidfile.BadPidFile, OSError):
        pass


def is_valid(loader: ConfigLoader) -> bool:
    """Read the configuration in a new process, which prints the error of an invalid one."""
    pid = os.fork()
    if pid:
        return os.waitpid(pid, 0)[1] == 0
    status = 1
    try:
        loader.load_to_serve()
        status = 0
    except (ConfigError, StartError) as problem:
        print("The configuration has changed and is invalid: the server keeps the old one.", flush=True)
        print_error(problem, loader)
    finally:
        os._exit(status)
