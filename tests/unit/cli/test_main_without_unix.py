"""The toolchain on systems that lack parts of Unix: macOS, and what can be read on Windows.

The commands run in processes in which the modules and the members of `os` are hidden that these systems do
not have; the files are the example site.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
import os, sys

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
sys.argv[:3] = ["whimbrel"]
from whimbrel.cli.entry import main
main()
"""
READING = {
    ("check", "site"): (1, "C17"),
    ("upgrade", "-d", "site"): (1, "+    Require all denied"),
    ("verify", "site"): (1, "1 cause of 1 difference"),
    ("explain", "-d", "site", "http://localhost:8080/birds/"): (0, "200 OK"),
    ("fmt", "--check", "site"): (0, ""),
}
"""Command -> its exit code, and a part of its output."""


def run(
    members: tuple[str, ...], words: tuple[str, ...], directory: Path
) -> subprocess.CompletedProcess[str]:
    """Run a command of `whimbrel` without the modules of Unix and these members of `os`."""
    hidden = [",".join(HIDDEN_MODULES), ",".join(members)]
    return subprocess.run(
        [sys.executable, "-c", RUN, *hidden, *words], cwd=directory, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the parent of a copy of the example site."""
    path = tmp_path_factory.mktemp("without-unix")
    copy_site(path / "site")
    return path


@pytest.mark.parametrize("members", [NOT_ON_MACOS, NOT_ON_WINDOWS], ids=["macos", "windows"])
@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_what_reads(words: tuple[str, ...], members: tuple[str, ...], directory: Path) -> None:
    status, part = READING[words]
    found = run(members, words, directory)
    assert found.returncode == status, found.stderr
    assert part in found.stdout and "Traceback" not in found.stderr


def test_what_writes_on_macos(directory: Path) -> None:
    written = run(NOT_ON_MACOS, ("upgrade", "-d", "site", "--out", "new"), directory)
    assert written.returncode == 0, written.stderr
    assert "Require all denied" in (directory / "new/conf/httpd.conf").read_text()
    assert run(NOT_ON_MACOS, ("verify", "site", "new"), directory).returncode == 0
    assert run(NOT_ON_MACOS, ("example", "second"), directory).returncode == 0
    assert (directory / "second/htdocs/index.html").is_file()


def test_what_would_write_on_windows_says_why_not(directory: Path) -> None:
    refused = run(NOT_ON_WINDOWS, ("upgrade", "-d", "site", "--out", "other"), directory)
    assert refused.returncode == 2
    assert "this system has no descriptors of directories" in refused.stderr
    assert "Traceback" not in refused.stderr
