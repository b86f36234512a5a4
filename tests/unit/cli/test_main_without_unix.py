"""The toolchain on systems that lack parts of Unix: macOS, and what can be read on Windows.

The commands run in processes in which the modules and the members of `os` are hidden that these systems do
not have; the files are the example site.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from whimbrel.cli.example import copy_site

HIDDEN_MODULES = ("uvloop", "fcntl", "pwd", "grp", "resource", "termios", "tty", "pty", "syslog")
NOT_ON_MACOS = (
    "O_PATH",
    "RWF_NOWAIT",
    "MFD_CLOEXEC",
    "copy_file_range",
    "memfd_create",
    "pipe2",
    "posix_fadvise",
    "sched_getaffinity",
)
NOT_ON_WINDOWS = (
    *NOT_ON_MACOS,
    *("O_CLOEXEC", "O_DIRECTORY", "O_NOCTTY", "O_NOFOLLOW", "O_NONBLOCK"),
    *("chown", "environb", "fchmod", "fchown", "fork", "getegid", "geteuid", "getgid", "getloadavg"),
    *("getuid", "killpg", "pread", "preadv", "pwrite", "setsid"),
)
RUN = """
import importlib, json, os, sys, traceback

fork = os.fork
modules, members = (words.split(",") for words in sys.argv[1:3])


class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name in modules:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Hidden())
for name in modules:
    sys.modules.pop(name, None)
for name in members:
    if hasattr(os, name):
        delattr(os, name)
if "fork" in members:
    os.supports_dir_fd = set()
from whimbrel.cli.entry import main
for name in ("check", "explain", "fmt", "main", "upgrade", "verify"):
    importlib.import_module(f"whimbrel.cli.{name}")
from whimbrel.upgrade.rules import all_rules
all_rules()
results = []
for number, words in enumerate(json.load(sys.stdin)):
    if not (child := fork()):
        for handle, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(f"{name}{number}", os.O_CREAT | os.O_WRONLY), handle)
        sys.argv = ["whimbrel", *words]
        status = 0
        try:
            main()
        except SystemExit as end:
            status = end.code or 0
        except BaseException:
            traceback.print_exc()
            status = 70
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    results.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(json.dumps(results))
"""
READING = {
    ("check", "site"): (1, "C17"),
    ("upgrade", "-d", "site"): (1, "+    Require all denied"),
    ("verify", "site"): (1, "has no type the one of DefaultType, 2.4 sends no type (C13)"),
    ("explain", "-d", "site", "http://localhost:8080/birds/"): (0, "200 OK"),
    ("fmt", "--check", "site"): (0, ""),
}
"""Command -> its exit code, and a part of its output."""


class Done(NamedTuple):
    """A command that has ended."""

    status: int
    out: str
    err: str


def run(members: tuple[str, ...], commands: Sequence[tuple[str, ...]], directory: Path) -> list[Done]:
    """Run commands of `whimbrel` without the modules of Unix and these members of `os`.

    They are forks of one process, since each would import the same modules.
    """
    hidden = [",".join(HIDDEN_MODULES), ",".join(members)]
    program = [sys.executable, "-c", RUN, *hidden]
    done = subprocess.run(program, cwd=directory, input=json.dumps(commands), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [
        Done(
            status,
            (directory / f"out{number}").read_text(),
            (directory / f"err{number}").read_text(),
        )
        for number, status in enumerate(json.loads(done.stdout))
    ]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Return the parent of a copy of the example site."""
    copy_site(tmp_path / "site")
    return tmp_path


def assert_reads(found: Sequence[Done]) -> None:
    for each, (words, (status, part)) in zip(found, READING.items(), strict=True):
        assert each.status == status, (words, each.err)
        assert part in each.out and "Traceback" not in each.err, words


def test_macos_reads_and_writes(directory: Path) -> None:
    writing = (
        ("upgrade", "-d", "site", "--out", "new"),
        ("verify", "site", "new"),
        ("example", "second"),
    )
    found = run(NOT_ON_MACOS, (*READING, *writing), directory)
    assert_reads(found[: len(READING)])
    for each, (command, *_) in zip(found[len(READING) :], writing, strict=True):
        # the user of the site has no account here, so its server does not start
        assert each.status == (3 if command == "verify" else 0), each.err
    assert "Require all denied" in (directory / "new/conf/httpd.conf").read_text()
    assert (directory / "second/htdocs/index.html").is_file()


def test_windows_reads_and_says_why_it_does_not_write(directory: Path) -> None:
    *found, refused = run(NOT_ON_WINDOWS, (*READING, ("upgrade", "-d", "site", "--out", "other")), directory)
    assert_reads(found)
    assert refused.status == 2
    assert "this system has no descriptors of directories" in refused.err
    assert "Traceback" not in refused.err
