"""Programs that read a log from their standard input (``|program``), owned by the master.

The master keeps both ends of the pipe open, so no line is lost while a program is restarted. Manual:
logs.html#piped.
"""

from __future__ import annotations

import errno
import os
import shlex
import signal
import subprocess
import time

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.numbers import split
from whimbrel.base.programs import require_programs
from whimbrel.config.model import LogSink


class PipedLog:
    """One program and its pipe; *started* is the time of its last start (monotonic). Raises OSError."""

    def __init__(self, sink: LogSink, server_root: str = "") -> None:
        self.sink = sink
        self.server_root = server_root
        self.read_end, self.write_end = os.pipe()
        os.set_blocking(self.write_end, False)
        self.process: subprocess.Popen[bytes] | None = None
        self.started = 0.0
        self.ending = False

    def start(self) -> None:
        """Start or restart the program; raise OSError.

        As in APR, it starts in the server root and names without a slash are files there. A shell gets the
        words without their quotes, and an absolute name is checked first.
        """
        require_programs()
        self.started = time.monotonic()
        argv = [to_bytes(word) for word in words(self.sink.target)]
        executable = argv[0] if b"/" in argv[0] else b"./" + argv[0]
        if self.sink.shell:
            if argv[0].startswith(b"/") and not os.access(argv[0], os.X_OK):
                os.stat(argv[0])
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            argv, executable = [b"/bin/sh", b"-c", b" ".join(argv)], b"/bin/sh"
        self.process = subprocess.Popen(
            argv,
            executable=executable,
            stdin=self.read_end,
            cwd=to_bytes(self.server_root) or None,
            preexec_fn=_unblock,
        )

    @property
    def pid(self) -> int:
        """Process ID of the running program, 0 without one."""
        return self.process.pid if self.process is not None else 0

    def runs(self) -> bool:
        """Return True if the program runs."""
        return self.process is not None and self.process.poll() is None

    def ended(self) -> None:
        """Note that the program was reaped."""
        if self.process is not None:
            self.process.returncode = 0
            self.process = None

    def close(self) -> None:
        """Close the pipe; the program reads the rest and then end-of-file."""
        if not self.ending:
            self.ending = True
            os.close(self.write_end)
            os.close(self.read_end)


def _unblock() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def words(command: str) -> list[str]:
    """Split a command line as apr_tokenize_to_argv does: blanks, both quotes, backslashes."""
    try:
        return shlex.split(command) or [""]
    except ValueError:
        return split(command) or [""]
