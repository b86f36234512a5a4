"""Log lines of the requests of one client address, reduced to what both servers must write alike."""

from __future__ import annotations

import re
import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterator
from pathlib import Path

from tests.crawl.compare import Difference

PATIENCE = 3.0
NO_AGENT = "-"
RETRY = "retry"
AgentLines = defaultdict[str, deque[str]]
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
            if not line.endswith(f'crawl/{RETRY}"'):
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


def by_agent(lines: list[str]) -> AgentLines:
    """Group access lines by User-Agent: processes write lines of consecutive connections in any order."""
    grouped: AgentLines = defaultdict(deque)
    for line in lines:
        grouped[line.rsplit('"', 2)[-2] if line.endswith('"') else ""].append(line)
    return grouped


def compare_access(lines: tuple[str, str], sizes: tuple[int, int]) -> Iterator[Difference]:
    """Compare lines of the format `combined`: all but the time, %O less the octets received."""
    parts = [_ACCESS.match(line) for line in lines]
    one, two = (
        "".join(found.group(1, 2, 4)) if found else line for found, line in zip(parts, lines, strict=True)
    )
    if one != two:
        yield Difference("access", one, two)
        return
    counts = [
        f"{int(found[3]) - size:+d}" if found[3].isdigit() else found[3]
        for found, size in zip(parts, sizes, strict=True)
        if found
    ]
    if counts and counts[0] != counts[1]:
        yield Difference("access %O", *counts)


def error_codes(lines: list[str]) -> list[str]:
    """Return the codes of error log lines, in order."""
    return [found[0] for line in lines if (found := _CODE.search(line))]
