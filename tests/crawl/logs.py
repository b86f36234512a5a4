"""Log lines of the requests of one client address, reduced to what both servers must write alike."""

from __future__ import annotations

import re
import threading
import time
from collections import defaultdict
from pathlib import Path

PATIENCE = 3.0
_CLIENT = re.compile(r"\[client ([0-9.]+):\d+\]")
_CODE = re.compile(r"AH\d{5}")
_ACCESS = re.compile(r'^(\S+ \S+ \S+) \[[^\]]*\] (".*" \d{3}) (\d+|-) (.*)$')


class LogFile:
    """A growing file whose new lines are handed out by client address."""

    def __init__(self, path: Path, *, is_access: bool) -> None:
        self._path, self._is_access, self._offset = path, is_access, 0
        self._lines: defaultdict[str, list[str]] = defaultdict(list)
        self._lock = threading.Lock()

    def _read(self) -> None:
        with self._path.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        for line in whole.decode("latin-1").split("\n"):
            client = _CLIENT.search(line)
            name = line.partition(" ")[0] if self._is_access else client[1] if client else ""
            self._lines[name].append(line)

    def take(self, client: str, count: int = 0) -> list[str]:
        """Return the new lines of *client*; wait until there are *count*."""
        end = time.monotonic() + PATIENCE
        while True:
            with self._lock:
                self._read()
                if len(self._lines[client]) >= count or time.monotonic() > end:
                    return self._lines.pop(client, [])
            time.sleep(0.01)


def access_line(line: str, size: int) -> str:
    """Return a line of the format `combined` without its time, and %O as the difference to the *size* received."""
    parts = _ACCESS.match(line)
    if parts is None:
        return line
    octets = f"{int(parts[3]) - size:+d}" if parts[3].isdigit() else parts[3]
    return f"{parts[1]} {parts[2]} {octets} {parts[4]}"


def error_codes(lines: list[str]) -> list[str]:
    """Return the codes of error log lines, in order."""
    return [found[0] for line in lines if (found := _CODE.search(line))]
