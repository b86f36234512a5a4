"""Commands of the package in forks of a process that has imported them.

A command imports 600 files, which costs twenty times what it does with a small configuration. A test that is
not about the start of a process runs it here: the fork has arguments, directory, environment and standard
files of its own, may confine itself, and ends as a process ends.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from multiprocessing import forkserver
from pathlib import Path
from typing import Final

SECONDS: Final = 120
ROOT: Final = Path(__file__).resolve().parents[2]
PRELOADED: Final = (
    "api",
    "cli",
    "config",
    "directives",
    "engine",
    "modules",
    "report",
    "upgrade",
    "utilities",
    "verify",
)
"""Packages whose modules are imported before the fork, if the tests have imported them."""


@cache
def _context() -> multiprocessing.context.ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    prefixes = tuple(f"whimbrel.{name}." for name in PRELOADED)
    names = sorted(name for name in sys.modules if name.startswith(prefixes))
    context.set_forkserver_preload(["tests.support.warm_command_imports", *names])
    with contextlib.chdir(ROOT):  # where it finds this package
        forkserver.ensure_running()
    return context


def main() -> None:
    """Run `whimbrel` with the arguments of this process."""
    from whimbrel.cli.main import main

    main()


def debian_httpd() -> None:
    """Run whimbrel-httpd as Debian's binary, which has modules built in and refuses to load them."""
    from whimbrel.cli.httpd import run

    sys.exit(run(["apache2", "--builtin", "debian", *sys.argv[1:]]))


def httpd() -> None:
    """Run whimbrel-httpd, with what its messages call it as the first argument."""
    from whimbrel.cli.httpd import run

    sys.exit(run(sys.argv[1:]))


def utility() -> None:
    """Run a utility of httpd, or `whimbrel` with the arguments of this process."""
    from whimbrel.cli.entry import main

    main()


def run(
    words: Sequence[str],
    *,
    cwd: Path | str,
    typed: bytes = b"",
    umask: int = 0o022,
    environment: Mapping[str, str] | None = None,
    entry: Callable[[], None] = main,
    awaits_output: bool = False,
) -> subprocess.CompletedProcess[bytes]:
    """Return exit status and output of a command; *entry* is a function of this module, as the
    fork would import another one, and reads sys.argv. *awaits_output*: the output is that of a program which
    the command starts and does not wait for.
    """
    with tempfile.TemporaryDirectory(prefix="command-") as name:
        files = [os.path.join(name, each) for each in ("stdin", "stdout", "stderr")]
        for file, data in zip(files, (typed, b"", b""), strict=True):
            Path(file).write_bytes(data)
        values = dict(os.environ if environment is None else environment)
        process = _context().Process(
            target=_command, args=(entry, list(words), str(cwd), umask, values, files)
        )
        process.start()
        process.join(SECONDS)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(list(words), SECONDS)
        end = time.monotonic() + 10
        while awaits_output and not os.path.getsize(files[1]) and time.monotonic() < end:
            time.sleep(0.005)
        out, err = (Path(file).read_bytes() for file in files[1:])
        return subprocess.CompletedProcess(list(words), process.exitcode, out, err)


def _command(
    entry: Callable[[], None],
    words: list[str],
    cwd: str,
    umask: int,
    environment: dict[str, str],
    files: list[str],
) -> None:
    os.setsid()  # no terminal
    os.chdir(cwd)
    os.umask(umask)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    for number, file in enumerate(files):
        handle = os.open(file, os.O_WRONLY if number else os.O_RDONLY)
        os.dup2(handle, number)
        os.close(handle)
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
    sys.argv = ["-c", *words]
    entry()
