"""Ledger of all requests of a load: each has a number in its query, and one line of the access log."""

from __future__ import annotations

import re
import threading
from array import array
from collections import Counter
from collections.abc import Iterable

LINE = re.compile(r'"[^"]*[?&]n=(\d+)[^"]*" (\d{3}) (\d+|-) ')
PENDING = 0
UNPROCESSED = 1  # the server gave it back: an idle connection closed, or GOAWAY
GIVEN_UP = 2  # by the client, in the middle of the response
LOST = 3
SHOWN = 20  # failures that are listed


class Ledger:
    """Requests by their number, with what became of them; clients in any thread write to it.

    Attributes:
        kinds: answered requests by kind. `failures`: a line for each of the first wrong or lost responses.
        wrong: number of wrong or lost responses. `unprocessed`: requests that the server gave back.
    """

    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()
        self.failures: list[str] = []
        self.wrong = 0
        self.unprocessed = 0
        self.given_up = 0
        self._states = array("H", [PENDING])
        self._sizes = array("q", [-1])
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._states) - 1

    def begin(self) -> int:
        """Return the number of a new request."""
        with self._lock:
            self._states.append(PENDING)
            self._sizes.append(-1)
            return len(self._states) - 1

    def answered(self, number: int, kind: str, status: int, size: int = -1, problem: str = "") -> None:
        """Note a complete response with the bytes of its body, -1 if the log need not agree; *problem* is
        what is wrong with it.
        """
        with self._lock:
            self._states[number] = status
            self._sizes[number] = size
            self.kinds[kind] += 1
        if problem:
            self._fail(f"{kind} {number}: {problem}")

    def give_up(self, number: int) -> None:
        """Note that the client has closed in the middle of the response."""
        self._states[number] = GIVEN_UP
        with self._lock:
            self.given_up += 1

    def give_back(self, number: int) -> None:
        """Note that the server has not processed the request, and may not have."""
        self._states[number] = UNPROCESSED
        with self._lock:
            self.unprocessed += 1

    def lose(self, number: int, kind: str, reason: str) -> None:
        """Note that the response did not come, or not as a whole."""
        self._states[number] = LOST
        self._fail(f"{kind} {number}: lost, {reason}")

    def _fail(self, text: str) -> None:
        with self._lock:
            self.wrong += 1
            if len(self.failures) < SHOWN:
                self.failures.append(text)

    def reconcile(self, lines: Iterable[str]) -> tuple[int, list[str]]:
        """Return the number of *lines* of the access log, and a line for each disagreement.

        A request that was answered or given up has one line, with the status and size that the client saw.
        One that the server gave back has none. Each line belongs to a request.
        """
        counts = array("B", bytes(len(self._states)))
        problems: list[str] = []
        total = 0
        for line in lines:
            total += 1
            found = LINE.search(line)
            if found is None or int(found[1]) >= len(counts):
                problems.append(f"a line of no request: {line[:200]}")
                continue
            number = int(found[1])
            counts[number] += counts[number] < 255
            problems += self._differences(number, int(found[2]), 0 if found[3] == "-" else int(found[3]))
        for number in range(1, len(counts)):
            state = self._states[number]
            wanted = state != UNPROCESSED
            if counts[number] != wanted and state not in (PENDING, LOST):
                problems.append(f"request {number} ({state}): {counts[number]} lines in place of {wanted:d}")
            elif counts[number] > 1 or state == PENDING:
                problems.append(f"request {number} ({state}): {counts[number]} lines, no end")
        return total, problems

    def _differences(self, number: int, status: int, size: int) -> list[str]:
        state = self._states[number]
        if state >= 100 and state != status:
            return [f"request {number}: status {state} for the client, {status} in the log"]
        if state >= 100 and self._sizes[number] not in (-1, size):
            return [f"request {number}: {self._sizes[number]} bytes for the client, {size} in the log"]
        return []
