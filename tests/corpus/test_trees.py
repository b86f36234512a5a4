"""Whole configuration directories of real servers: each loads, or fails with the message that httpd gives.

A tree is copied, its absolute paths pointed to the copy, and asked with -t. Where this machine has Debian's
apache2, it is asked the same question.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.corpus.configurations import roots

APACHE, MODULES = Path("/usr/sbin/apache2"), Path("/usr/lib/apache2/modules")
# Debian's binary has these built in and refuses to load them; other builds do not.
BUILT_IN = re.compile(rb"(?im)^(?=[ \t]*LoadModule[ \t]+(?:log_config|logio|version|watchdog|unixd)_module)")
WHIMBREL = [
    sys.executable,
    "-c",
    "import sys; from whimbrel.cli.httpd import run; sys.exit(run(['apache2', *sys.argv[1:]]))",
]

needs_apache = pytest.mark.skipif(
    not (APACHE.is_file() and MODULES.is_dir()), reason="no apache2 of Debian on this machine to compare with"
)


def copied(root: Path, main: str, to: Path) -> Path:
    """A copy of *root* whose own absolute path stands in its files; missing log directories are made."""
    where = to / "root"
    shutil.copytree(root, where, symlinks=True)
    for path in where.rglob("*"):
        if path.is_symlink() or not path.is_file():
            continue
        os.chmod(path, 0o644)
        text = path.read_bytes()
        path.write_bytes(BUILT_IN.sub(b"#", re.sub(rb"/etc/(apache2|httpd)\b", str(where).encode(), text)))
    for folder in [where, *(p for p in where.rglob("*") if p.is_dir() and not p.is_symlink())]:
        os.chmod(folder, 0o755)
    (to / "logs").mkdir(exist_ok=True)
    (where / "lib").mkdir(exist_ok=True)
    for name, target in (
        ("modules", MODULES),
        ("lib/apache", MODULES),
        ("logs", to / "logs"),
        ("run", to / "logs"),
    ):
        if not os.path.lexists(where / name):
            (where / name).symlink_to(target)
    return where


def asked(command: list[str], root: Path, main: str) -> tuple[int, str]:
    """The status and the text of -t, times and process numbers left out."""
    logs = str(root.parent / "logs")
    environment = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG": "C",
        "APACHE_RUN_USER": "daemon",
        "APACHE_RUN_GROUP": "daemon",
        "APACHE_PID_FILE": f"{logs}/pid",
        "APACHE_RUN_DIR": logs,
        "APACHE_LOCK_DIR": logs,
        "APACHE_LOG_DIR": logs,
        "APACHE_CONFDIR": str(root),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    argv = [*command, "-d", str(root), "-f", str(root / main), "-t"]
    done = subprocess.run(argv, capture_output=True, env=environment, cwd=root, timeout=60, check=False)
    text = (done.stdout + done.stderr).decode("utf-8", "replace")
    text = re.sub(r"(?m)^\[(Mon|Tue|Wed|Thu|Fri|Sat|Sun) [^\]]*\] ", "", text)
    return done.returncode, re.sub(r"\[pid \d+(:tid \d+)?\] ", "", text)


@pytest.mark.parametrize("dialect", ["2.2", "2.4", "guide"])
@pytest.mark.parametrize(("name", "root", "main"), roots(), ids=[name for name, _, _ in roots()])
def test_a_tree_loads_or_fails_with_a_message(
    name: str, root: Path, main: str, dialect: str, tmp_path: Path
) -> None:
    status, text = asked([*WHIMBREL, "--dialect", dialect], copied(root, main, tmp_path), main)
    assert "Traceback" not in text
    assert status == 0 if text.endswith("Syntax OK\n") else status == 1
    assert text.strip()


STEPS = 25
LINE = re.compile(r"Syntax error on line (\d+) of ([^\n]+?):(?=\s)")


def without_the_culprit(text: str, where: Path) -> bool:
    """Make a comment of the line that a message names last; False when it names none in the tree."""
    places = [
        (int(number), Path(file)) for number, file in LINE.findall(text) if Path(file).is_relative_to(where)
    ]
    if not places:
        return False
    number, path = places[-1]
    lines = path.read_bytes().split(b"\n")
    if lines[number - 1].startswith(b"#") or b"</" in lines[number - 1][:3]:
        return False
    lines[number - 1] = b"#" + lines[number - 1].rstrip(b"\\\r")
    path.resolve().write_bytes(b"\n".join(lines))
    return True


@needs_apache
@pytest.mark.parametrize(("name", "root", "main"), roots(), ids=[name for name, _, _ in roots()])
def test_a_tree_ends_as_with_httpd(name: str, root: Path, main: str, tmp_path: Path) -> None:
    """Most trees are of 2.2 and fail early; each line that httpd refuses is taken out, and the question asked
    again."""
    where = copied(root, main, tmp_path)
    mpm: list[str] = []
    for _ in range(STEPS):
        ours, theirs = asked([*WHIMBREL, *mpm], where, main), asked([str(APACHE), *mpm], where, main)
        assert ours == theirs
        if "No MPM loaded" in theirs[1] and not mpm:
            mpm = ["-C", f"LoadModule mpm_prefork_module {MODULES}/mod_mpm_prefork.so"]
        elif theirs[0] == 0 or not without_the_culprit(theirs[1], where):
            break
