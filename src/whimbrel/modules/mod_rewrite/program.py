"""A program that answers lines with lines: RewriteMap prg:."""

from __future__ import annotations

import os
import select
import subprocess
import threading
import time
from typing import Final

from whimbrel.octets import raw, text

LONGEST_ANSWER: Final = 65536


class Program:
    """One long-lived child process; calls come from any thread and take turns.

    A program that ends gives empty answers from then on, as under httpd; one that doesn't answer in time is ended, since its late answer would be
    taken for the next one.
    """

    def __init__(self, command: list[str], folder: str) -> None:
        self.command, self.folder = [raw(word) for word in command], folder
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, line: str, seconds: float) -> str | None:
        """The answer to *line*; "" from a program that is gone, None where none could be started or no answer came within *seconds*."""
        with self._lock:
            process = self._running()
            if process is None or process.stdin is None or process.stdout is None:
                return None
            try:
                process.stdin.write(raw(line) + b"\n")
                process.stdin.flush()
            except OSError:
                return ""
            answer = _read_line(process.stdout.fileno(), time.monotonic() + seconds)
            if answer is None:
                self.stop()
            return answer

    def _running(self) -> subprocess.Popen[bytes] | None:
        if self._process is None:
            try:
                self._process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=-1)
            except OSError:
                return None
        return self._process

    def stop(self) -> None:
        """End the program; it is not started again."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def _read_line(handle: int, until: float) -> str | None:
    """What comes before the next line end or the end; None when time runs out."""
    got = bytearray()
    while len(got) < LONGEST_ANSWER:
        left = until - time.monotonic()
        if left <= 0 or not select.select([handle], [], [], left)[0]:
            return None
        part = os.read(handle, 4096)
        if not part:
            break
        got += part
        if b"\n" in part:
            break
    return text(bytes(got).partition(b"\n")[0])
