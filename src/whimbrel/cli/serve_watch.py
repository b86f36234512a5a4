"""`whimbrel serve --watch`: a process that reloads the server after a valid change of its configuration.

It starts before the server has sockets, so that it holds none. Each change is read in a process of its own:
what reading leaves behind ends with that process, and an invalid text never reaches the server.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, NoReturn

from whimbrel.base.errors import ConfigError, StartError
from whimbrel.base.latin1 import to_system
from whimbrel.base.real_paths import without_links
from whimbrel.cli.config_loader import ConfigLoader, print_error
from whimbrel.config.configuration import Configuration
from whimbrel.config.includes import has_wildcards
from whimbrel.server.master import pidfile
from whimbrel.utilities.usage_error import UsageError

POLL: Final = 1000
"""Milliseconds after which the process looks whether the server still runs."""
CLOCK_STEP: Final = 0.01
"""Seconds by which the times of files may lag behind the clock."""


def require_watchfiles() -> None:
    """Raise UsageError if the optional package is not installed."""
    try:
        import watchfiles  # noqa: F401
    except ImportError:
        from whimbrel.base.extras import not_installed

        raise UsageError(not_installed("--watch", "watch")) from None


@dataclass(frozen=True, slots=True)
class Watched:
    """What a configuration consists of.

    Attributes:
        directories: those of the files that were read, of the files that links lead to, and of Include lines,
            also if they do not exist.
        written: files that the server writes: a log beside the configuration is no change of it.
    """

    directories: tuple[str, ...]
    written: tuple[str, ...] = ()

    def existing(self) -> set[str]:
        """Return the directories to watch: for a missing one the nearest above it."""
        return set(map(_existing, self.directories))

    def is_concerned(self, path: str) -> bool:
        """Return True if a change of *path* may change the configuration."""
        if path in self.written:
            return False
        above = f"{path}/"
        return os.path.dirname(path) in self.directories or any(
            f"{directory}/".startswith(above) for directory in self.directories
        )

    def entries(self) -> frozenset[str]:
        """Return the entries of the directories whose changes count."""
        paths = (path for directory in self.existing() for path in _entries(directory))
        return frozenset(path for path in paths if self.is_concerned(path))

    def has_changed(self, since: float, before: frozenset[str]) -> bool:
        """Return True if an entry has changed after the time *since*, or the entries are not those *before*.

        The time of a directory says less: it changes with each new log.
        """
        present = self.entries()
        return present != before or any(_changed(path) > since - CLOCK_STEP for path in present)


def watched(configuration: Configuration) -> Watched:
    """Return what to watch of *configuration*, which may be incomplete."""
    paths = [to_system(included.path) for included in configuration.includes]
    directories = {without_links(os.path.dirname(path)) for path in paths}
    directories |= {os.path.dirname(without_links(path)) for path in paths}
    directories |= {_directory_of(to_system(pattern)) for pattern in configuration.include_patterns}
    written = [*(sink.target for sink in configuration.spec.log_sinks), configuration.spec.pid_file]
    return Watched(
        tuple(sorted(directories)), tuple(without_links(to_system(path)) for path in written if path)
    )


def _directory_of(pattern: str) -> str:
    """Return the directory whose entries decide what an Include line reads."""
    if os.path.isdir(pattern):
        return without_links(pattern)
    directory = os.path.dirname(pattern)
    while has_wildcards(directory):
        directory = os.path.dirname(directory)
    return without_links(directory)


def _existing(directory: str) -> str:
    while not os.path.isdir(directory):
        directory = os.path.dirname(directory)
    return directory


def _entries(directory: str) -> list[str]:
    try:
        return [os.path.join(directory, name) for name in os.listdir(directory)]
    except OSError:
        return []


def _changed(path: str) -> float:
    try:
        return os.lstat(path).st_ctime
    except OSError:
        return 0.0


def start(loader: ConfigLoader, configuration: Configuration) -> int:
    """Start the process; return its process ID in this process."""
    files = watched(configuration)
    pid_file = configuration.spec.pid_file
    server = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the server, which this process notices
        follow(files, lambda: os.getppid() == server, partial(reload, loader, pid_file, server))
    finally:
        os._exit(0)


def follow(files: Watched, runs: Callable[[], bool], on_change: Callable[[Watched], Watched]) -> None:
    """Call *on_change* after each change of *files*, as long as *runs* returns True; its result takes their
    place.

    The system's watch begins anew after each change: a directory may have been removed and made again.
    """
    from watchfiles import watch

    began = time.time()
    entries = files.entries()
    while runs():
        is_watching = False
        for changes in watch(*files.existing(), recursive=False, rust_timeout=POLL, yield_on_timeout=True):
            if not runs():
                return
            if any(files.is_concerned(path) for _kind, path in changes):
                break
            if not is_watching and files.has_changed(began, entries):
                break
            is_watching = True  # it reports what changes from here on
        began = time.time()
        entries = files.entries()
        found = on_change(files)
        if found.directories != files.directories:
            entries = found.entries()
        files = found


def reload(loader: ConfigLoader, pid_file: str, server: int, files: Watched) -> Watched:
    """Read the configuration; restart the server gracefully if it is valid, else print the error. Return
    what to watch after *files*.
    """
    is_valid, found = check(loader)
    if not is_valid:  # what the error hides is still awaited
        return Watched(tuple(sorted({*files.directories, *found.directories})), files.written)
    try:
        if pidfile.read(pid_file) == server:  # from here on the server handles the signal
            os.kill(server, signal.SIGUSR1)
            print("The configuration has changed and is valid: reloaded.", flush=True)
    except (pidfile.BadPidFile, OSError):
        pass
    return found


def check(loader: ConfigLoader) -> tuple[bool, Watched]:
    """Read the configuration in a new process, which prints the error of an invalid one; return True for a
    valid one, and what it consists of as far as it was read.
    """
    ours, theirs = os.pipe()
    pid = os.fork()
    if not pid:
        _check(loader, theirs)
    os.close(theirs)
    with open(ours, "rb") as pipe:
        found = pipe.read()
    is_valid = os.waitpid(pid, 0)[1] == 0
    return is_valid, Watched(*map(tuple, json.loads(found or b"[[]]")))


def _check(loader: ConfigLoader, result: int) -> NoReturn:
    status = 1
    try:
        loader.load_to_serve()
        status = 0
    except (ConfigError, StartError) as problem:
        print("The configuration has changed and is invalid: the server keeps the old one.", flush=True)
        print_error(problem, loader)
    finally:
        try:
            if loader.configuration is not None:
                files = watched(loader.configuration)
                with open(result, "w") as pipe:
                    json.dump([files.directories, files.written], pipe)
        finally:
            os._exit(status)
