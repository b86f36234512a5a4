"""Results of a replay: counts of log lines, of statuses logged and now, and of changes with their lines.

Tallies of pieces are merged in the order of the pieces, so the result does not depend on who worked on which.
"""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.verify.named_requests import MAX_REQUESTS

MAX_EXAMPLES: Final = 5
MAX_CAUSE_LINES: Final = 4  # lines that a change has of a cause; a cause with more is cut
MAX_GROUPS: Final = 1000  # changes that are listed apart; more are counted by status
MAX_NAMES: Final = 2000  # clients, users, hosts and paths of a change; the rarest are dropped beyond twice it
MAX_HOURS: Final = 50_000  # hours that are counted apart, of five years
MAX_SHOWN: Final = 200  # bytes of a line that is shown as an example
NOT_RUN: Final = 0  # status of a request whose handler is a program or a back end
UNAUTHORIZED: Final = 401
PROGRAM: Final = "by a program or back end"
"""The status of a request whose handler was not run."""
HANDLER_CHANGED: Final = "handler or its target"
"""What changes where both sides would run another program, or contact another back end."""
SOURCE_SENT: Final = "the program runs -> its source is sent"
"""What changes where the new side sends the text of a program that the old side runs."""


class CausingLine(NamedTuple):
    """A line of a configuration that took part in a change."""

    file: str
    line: int
    text: str


class ChangeKey(NamedTuple):
    """What changes, and the lines of both sides that decide it.

    *reason*: why no line is named, or what is known of the change. *rule*: the rule that calls it cosmetic.
    *is_of_access*: access control decided one of the statuses.
    """

    what: str
    old: tuple[CausingLine, ...] = ()
    new: tuple[CausingLine, ...] = ()
    reason: str = ""
    rule: str = ""
    is_of_access: bool = False


class StatusReason(NamedTuple):
    """Why a request has a status that was not logged: the lines that decide it, else a sentence."""

    lines: tuple[CausingLine, ...]
    sentence: str


class HostlessLines(NamedTuple):
    """Lines without a host that one of *number* virtual hosts logged, the first of which are *names*.

    *taken*: the host that was taken. *what* they have in common: "log in their format".
    """

    taken: str
    number: int
    names: tuple[str, ...]
    what: str


@dataclass(slots=True)
class Change:
    """One change: how often and for whom.

    Attributes:
        requests: logged requests. `distinct`: those that were answered apart.
        examples: requests in words, the first ones. `dropped`: requests of names that were dropped.
        words: those of `explain` for the first one.
        named_requests: the requests of a change without lines, as comments name them (`request_of`); at most
            one more than comments may name.
    """

    requests: int = 0
    distinct: int = 0
    clients: Counter[str] = field(default_factory=Counter)
    users: Counter[str] = field(default_factory=Counter)
    hosts: Counter[str] = field(default_factory=Counter)
    paths: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    words: tuple[str, ...] = ()
    dropped: int = 0
    named_requests: dict[str, None] = field(default_factory=dict)

    def add(self, other: Change) -> None:
        """Add a later piece's."""
        self.requests += other.requests
        self.distinct += other.distinct
        self.dropped += other.dropped
        self.words = self.words or other.words
        room = MAX_REQUESTS + 1 - len(self.named_requests)
        self.named_requests.update(
            dict.fromkeys([one for one in other.named_requests if one not in self.named_requests][:room])
        )
        self.examples = [*self.examples, *other.examples][:MAX_EXAMPLES]
        for mine, theirs in (
            (self.clients, other.clients),
            (self.users, other.users),
            (self.hosts, other.hosts),
            (self.paths, other.paths),
        ):
            mine.update(theirs)
            if len(mine) > 2 * MAX_NAMES:
                self.dropped += _shorten(mine)


def _shorten(names: Counter[str]) -> int:
    """Keep the most frequent names; return the number of requests of the others."""
    ordered = sorted(names.items(), key=lambda item: (-item[1], item[0]))
    names.clear()
    names.update(dict(ordered[:MAX_NAMES]))
    return sum(count for _name, count in ordered[MAX_NAMES:])


@dataclass(slots=True)
class Tally:
    """Counts of one piece of a log, or of all.

    Attributes:
        lines: all lines; `requests` were replayed, `distinct` different ones (of each piece).
        malformed, huge, without_request: lines that were not, with examples.
        statuses: requests by (logged, old, new) status; NOT_RUN where a handler was not run.
        status_examples, status_reasons: the first request by (logged, new) status, and why it has that.
        missing: requests whose file does not exist here, although the log has a success.
        changes: by what changes and why.
        hostless: requests of lines without a host that several virtual hosts may have logged.
        taken_for: requests of lines without a host that one virtual host logged, by the sentence about it.
        hours: requests, and those that change, by day and hour (``10/Oct/2000:13``); "" for lines without.
    """

    lines: int = 0
    requests: int = 0
    distinct: int = 0
    malformed: int = 0
    huge: int = 0
    without_request: int = 0
    missing: int = 0
    malformed_examples: list[str] = field(default_factory=list)
    statuses: Counter[tuple[int, int, int]] = field(default_factory=Counter)
    status_examples: dict[tuple[int, int], str] = field(default_factory=dict)
    status_reasons: dict[tuple[int, int], StatusReason] = field(default_factory=dict)
    changes: dict[ChangeKey, Change] = field(default_factory=dict)
    hours: dict[str, tuple[int, int]] = field(default_factory=dict)
    hostless: Counter[HostlessLines] = field(default_factory=Counter)
    taken_for: Counter[str] = field(default_factory=Counter)

    def change(self, key: ChangeKey) -> Change:
        """Return the change of *key*; beyond MAX_GROUPS one for all of the same kind."""
        found = self.changes.get(key)
        if found is None:
            if len(self.changes) >= MAX_GROUPS:
                key = ChangeKey(key.what, is_of_access=key.is_of_access)
                found = self.changes.get(key)
            if found is None:
                found = Change()
                self.changes[key] = found
        return found

    def count_hour(self, hour: bytes, number: int, *, is_changed: bool) -> None:
        """Count *number* requests of one hour."""
        self._add_hour(hour.decode("ascii"), (number, number * is_changed))

    def _add_hour(self, hour: str, counts: tuple[int, int]) -> None:
        """Add counts of one hour; beyond MAX_HOURS those of a new one have no hour."""
        if hour not in self.hours and len(self.hours) >= MAX_HOURS:
            hour = ""
        before = self.hours.get(hour, (0, 0))
        self.hours[hour] = before[0] + counts[0], before[1] + counts[1]

    def note_bad(self, line: bytes) -> None:
        """Store a line as an example: as it is, with other bytes than those of ASCII text escaped."""
        if len(self.malformed_examples) < MAX_EXAMPLES:
            shown = "".join(chr(one) if 32 <= one < 127 else f"\\x{one:02x}" for one in line[:MAX_SHOWN])
            self.malformed_examples.append(shown + ("..." if len(line) > MAX_SHOWN else ""))

    def add(self, other: Tally) -> None:
        """Add the tally of the next piece."""
        for name in ("lines", "requests", "distinct", "malformed", "huge", "without_request", "missing"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.malformed_examples = [*self.malformed_examples, *other.malformed_examples][:MAX_EXAMPLES]
        self.statuses.update(other.statuses)
        self.hostless.update(other.hostless)
        self.taken_for.update(other.taken_for)
        for key, example in other.status_examples.items():
            if key not in self.status_examples:
                self.status_examples[key] = example
                if key in other.status_reasons:
                    self.status_reasons[key] = other.status_reasons[key]
        for hour, counts in other.hours.items():
            self._add_hour(hour, counts)
        for change_key, change in other.changes.items():
            self.change(change_key).add(change)

    @property
    def changed(self) -> int:
        """The number of requests whose answer changes."""
        return sum(change.requests for change in self.changes.values())

    @property
    def not_compared(self) -> int:
        """The number of requests that programs or back ends answer on both sides, whose choice is equal."""
        others = sum(change.requests for key, change in self.changes.items() if key.what == HANDLER_CHANGED)
        return sum(n for (_, old, new), n in self.statuses.items() if old == new == NOT_RUN) - others
