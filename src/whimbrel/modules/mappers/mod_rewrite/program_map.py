"""Program that maps lines to lines: RewriteMap prg:."""

from __future__ import annotations

import mmap
import os
import select
import subprocess
import threading
import time
from typing import Final

from whimbrel.base.file_locks import lock, unlock
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.programs import require_programs

MAX_RESULT: Final = 65536


class MapProgram:
    """One long-lived process, shared by all workers of a server and serialized over their threads.

    The server starts it before it forks; elsewhere (-X, tools, tests) the first call does. As in httpd, an
    ended program returns empty values.

    The shared byte `_owing` is 1 while a reply is pending. A reply that its caller abandoned (timeout, end of
    its process) is read and dropped by the next caller.
    """

    def __init__(self, command: list[str], directory: str) -> None:
        self.name = f"rewrite {command}"
        self.command = [to_bytes(word) for word in command]
        self.directory = directory
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the program. Raises OSError."""
        require_programs()
        self._file_lock = os.memfd_create("rewrite-map")
        self._owing = mmap.mmap(-1, 1)
        self._process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            cwd=to_bytes(self.directory),
            env={},  # httpd's
        )

    def lookup(self, line: str, seconds: float) -> str | None:
        """Return the reply to *line*, "" if it has ended; None if not started or later than *seconds*."""
        with self._lock:
            if self._process is None:
                try:
                    self.start()
                except OSError:
                    return None
            lock(self._file_lock)
            try:
                return self._exchange(line, time.monotonic() + seconds)
            finally:
                unlock(self._file_lock)

    def _exchange(self, line: str, until: float) -> str | None:
        assert (
            self._process is not None and self._process.stdin is not None and self._process.stdout is not None
        )
        answers = self._process.stdout.fileno()
        if self._owing[0] and _read_line(answers, until) is None:
            return None
        self._owing[0] = 1
        try:
            self._process.stdin.write(to_bytes(line) + b"\n")
        except OSError:
            return ""
        reply = _read_line(answers, until)
        if reply is not None:
            self._owing[0] = 0
        return reply

    def release(self, *, at_once: bool) -> None:
        """Release the program: it reads end-of-file after the last release, or is ended *at_once*."""
        process, self._process = self._process, None
        if process is None or process.stdin is None or process.stdout is None:
            return
        process.stdin.close()
        process.stdout.close()
        os.close(self._file_lock)
        if at_once:
            process.terminate()
        process.returncode = 0  # the server reaps it

    def ended(self, _pid: int) -> bool:
        """Return False: as in httpd, an ended program is not started again."""
        return False


def _read_line(handle: int, until: float) -> str | None:
    """Read up to the next line end or the end; return None after a timeout."""
    poller = select.poll()
    poller.register(handle, select.POLLIN)
    got = bytearray()
    while len(got) < MAX_RESULT:
        left = until - time.monotonic()
        if left <= 0 or not poller.poll(left * 1000):
            return None
        part = os.read(handle, 4096)
        if not part:
            break
        got += part
        if b"\n" in part:
            break
    return to_text(bytes(got).partition(b"\n")[0])
