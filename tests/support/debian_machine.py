"""Debian's server on a machine apart: /etc/apache2, /var/log, /run, ports and processes are those of a test.

The programs of the distribution name these places themselves. Namespaces of Linux put copies there, and
Whimbrel at /usr/sbin/apache2, which the real machine never sees.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final, Self

from tests.differential.servers import APACHE, Program

WHIMBREL_HTTPD: Final = Path(sys.executable).with_name("whimbrel-httpd")
PID_FILE: Final = "/run/apache2/apache2.pid"
PATIENCE: Final = 30.0  # seconds
_CLONE_NEWNET: Final = 0x40000000
# The first process leaves no orphan as a zombie, and stays until its standard input ends.
_STAY: Final = """import signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print("ready", flush=True)
sys.stdin.read()
"""
_MOUNTS: Final = """set -e
mount -t tmpfs none /run
mkdir -p /run/lock
for name in etc/apache2 var/log var/lib/apache2 var/www; do mount --bind "$1/$name" "/$name"; done
if [ -n "$2" ]; then mount --bind "$2" /usr/sbin/apache2; fi
# images of containers forbid services to start; this machine is none
policy=/usr/sbin/policy-rc.d
if [ -e "$policy" ]; then mount --bind /bin/true "$policy"; fi
ip link set lo up
exec "$3" -c "$4"
"""


@cache
def missing(*programs: str) -> str:
    """Return why no machine with *programs* can be had, "" if it can."""
    if os.getuid() != 0:
        return "only root may mount files over others"
    for name in ("apache2ctl", "unshare", "nsenter", "ip", "ps", *programs):
        if shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") is None:
            return f"{name} is not installed"
    done = subprocess.run(["unshare", "-mpnf", "true"], capture_output=True, text=True)
    return (done.stderr.strip() or "no namespaces here") if done.returncode else ""


class DebianMachine:
    """Machine whose /usr/sbin/apache2 is *program*; a context manager.

    Meanwhile the calling thread, and what it starts, uses the machine's network: the loopback alone, where
    all ports are free.

    Attributes:
        base: directory with what the machine has at etc, var and run: `base / "etc/apache2"`.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.base = Path(tempfile.mkdtemp(prefix="machine-"))
        self.base.chmod(0o755)
        shutil.copytree("/etc/apache2", self.base / "etc/apache2", symlinks=True)
        for name in ("var/log/apache2", "var/lib/apache2", "var/www/html"):
            (self.base / name).mkdir(parents=True)

    def __enter__(self) -> Self:
        server = "" if self.program is APACHE else str(WHIMBREL_HTTPD)
        self._first = subprocess.Popen(
            ["unshare", "-mpnf", "--mount-proc", "--kill-child", "sh", "-c", _MOUNTS, "sh"]
            + [str(self.base), server, sys.executable, _STAY],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._first.stdout is not None
        assert self._first.stdout.readline() == "ready\n"
        children = Path(f"/proc/{self._first.pid}/task/{self._first.pid}/children").read_text()
        self._pid = int(children)
        self._own_network = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        network = os.open(f"/proc/{self._pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        _use_network(network)
        os.close(network)
        return self

    def __exit__(self, *_: object) -> None:
        _use_network(self._own_network)
        os.close(self._own_network)
        self._first.communicate()  # the first process of the machine ends, and with it all others
        shutil.rmtree(self.base, ignore_errors=True)

    def run(self, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run *command* on the machine, with standard error in its output."""
        return subprocess.run(
            ["nsenter", "-t", str(self._pid), "-m", "-p", "-n", *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=4 * PATIENCE,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", **variables},
        )

    def shell(self, text: str) -> str:
        """Return the output of a shell script."""
        return self.run("sh", "-c", text).stdout

    def start(self) -> None:
        """Start the server as Debian does."""
        done = self.run("apache2ctl", "start")
        assert done.returncode == 0, done.stdout + self.log()
        self.wait_for(lambda: "resuming normal operations" in self.log())

    def main_process(self) -> str:
        """Return the number in the PidFile, "" without one."""
        return self.shell(f"cat {PID_FILE} 2>/dev/null").strip()

    def log(self, name: str = "error.log") -> str:
        """Return the text of a log."""
        path = self.base / "var/log/apache2" / name
        return path.read_text("latin-1") if path.exists() else ""

    def wait_for(self, condition: Callable[[], object]) -> None:
        """Wait for *condition*."""
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, self.log()[-3000:]
            time.sleep(0.03)


def _use_network(handle: int) -> None:
    """Let the calling thread use a network namespace."""
    if ctypes.CDLL(None, use_errno=True).setns(handle, _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")
