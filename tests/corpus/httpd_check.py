"""Configuration trees copied to a directory and checked by a program with httpd's -t."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support import warm_command
from whimbrel.catalogue import catalogue

APACHE = Path("/usr/sbin/apache2")
MODULES = Path("/usr/lib/apache2/modules")
# Built into one side only: Debian's binary refuses the first five; Whimbrel needs no file for the rest.
BUILT_IN = re.compile(
    rb"(?im)^(?=[ \t]*LoadModule[ \t]+"
    rb"(?:log_config|logio|version|watchdog|unixd|fastcgi|fcgid|php\d*)_module)"
)
LINE = re.compile(r"Syntax error on line (\d+) of ([^\n]+?):(?=\s)")
HERE_ALONE = re.compile(
    r"Cannot load |[Cc]ould not open|does not exist|No such file|bad (?:user|group) "
    r"name|is not a directory|must be a valid directory|"
    r"Unable to (?:open|find)|Unknown DAV provider|Could not resolve|file for map \S+ not found|"
    r"Missing suexec binary|SSLCertificate"
)
UNKNOWN = re.compile(r"Invalid command '([^']*)'")
needs_apache = pytest.mark.skipif(
    not (APACHE.is_file() and MODULES.is_dir()), reason="no apache2 of Debian on this machine to compare with"
)


def copy_tree(root: Path, main: str, to: Path) -> Path:
    """Copy *root*, with the new absolute path in its files and the log directories that are missing."""
    where = to / "root"
    shutil.copytree(root, where, symlinks=True)
    for path in where.rglob("*"):
        if path.is_symlink() or not path.is_file():
            continue
        os.chmod(path, 0o644)
        text = path.read_bytes()
        path.write_bytes(BUILT_IN.sub(b"#", re.sub(rb"/etc/(apache2|httpd)\b", str(where).encode(), text)))
    for directory in [where, *(p for p in where.rglob("*") if p.is_dir() and not p.is_symlink())]:
        os.chmod(directory, 0o755)
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


def run_check(command: list[str], root: Path, main: str) -> tuple[int, str]:
    """Return the status and the output of -t, without times and process numbers.

    A command without a program, which begins with an option, is one of Whimbrel.
    """
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
    }
    argv = [*command, "-d", str(root), "-f", str(root / main), "-t"]
    if argv[0].startswith("-"):
        done = warm_command.run(argv, cwd=root, environment=environment, entry=warm_command.debian_httpd)
    else:
        done = subprocess.run(argv, capture_output=True, env=environment, cwd=root, timeout=60, check=False)
    text = (done.stdout + done.stderr).decode("utf-8", "replace")
    text = re.sub(r"(?m)^\[(Mon|Tue|Wed|Thu|Fri|Sat|Sun) [^\]]*\] ", "", text)
    return done.returncode, re.sub(r"\[pid \d+(:tid \d+)?\] ", "", text)


def comment_out_culprit(text: str, where: Path) -> bool:
    """Comment out the line that a message names last; return False if it names none in the tree."""
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


def foreign(name: str) -> bool:
    """Return True if the directive belongs to a module that is none of httpd's, or that this machine does not
    have."""
    name = name.lstrip("<").rstrip(">").lower()
    names = (name, f"<{name}")
    modules = {row.source.removesuffix(".c") for one in names for row in catalogue("2.4").find(one)}
    if not modules:
        return not any(map(catalogue("2.2").find, names))
    return not any(
        (MODULES / f"{module}.so").is_file() or module in ("core", "http_core") for module in modules
    )


def is_of_this_machine(text: str, line: bytes) -> bool:
    """Return True if what httpd says about *line* is about what is not here: files, users, modules, variables
    of the environment."""
    unknown = UNKNOWN.search(text)
    if b"${" in line:
        return True
    return foreign(unknown[1]) if unknown else HERE_ALONE.search(text) is not None
