"""Decision whether one more process of a class may start (mod_fcgid's spawn control).

A class gets points when a process starts or ends, and loses some each second; at a limit nothing is started.
"""

from __future__ import annotations

import time

from whimbrel.modules.support.processes.program import KeeperLimits, ProgramClass


class Population:
    """Numbers of one class.

    Attributes:
        count: its processes. `score`: its points at the time `seen`.
        least: number of processes that stay when idle.
    """

    __slots__ = ("count", "least", "score", "seen")

    def __init__(self, least: int) -> None:
        self.seen = int(time.time())
        self.count = 0
        self.score = 0
        self.least = least

    def age(self, time_score: int) -> None:
        """Take the points of the time that has passed."""
        now = int(time.time())
        self.score = max(0, self.score - time_score * (now - self.seen))
        self.seen = now


class Populations:
    """Numbers of all classes of one keeper."""

    def __init__(self, limits: KeeperLimits) -> None:
        self.limits = limits
        self.total = 0
        self._by_key: dict[int, Population] = {}

    def refusal(self, program: ProgramClass) -> str:
        """Return why no process of *program* may start, "" if one may."""
        limits = self.limits
        if self.total >= limits.most:
            return f"{program.name} total process count {self.total} >= {limits.most}, skip the spawn request"
        group = self._by_key.get(program.key)
        if group is None:
            return ""
        group.age(limits.time_score)
        if group.score >= limits.score_limit:
            return f"{program.name} spawn score {group.score} >= {limits.score_limit}, skip the spawn request"
        if group.count >= program.most:
            return (
                f"too many {program.name} processes (current:{group.count}, max:{program.most}), "
                "skip the spawn request"
            )
        return ""

    def started(self, program: ProgramClass) -> None:
        """Count a process that was started."""
        self.total += 1
        group = self._by_key.get(program.key)
        if group is None:
            group = Population(program.least)
            self._by_key[program.key] = group
        else:
            group.score += self.limits.spawn_score
            group.age(self.limits.time_score)
        group.count += 1

    def ended(self, key: int) -> None:
        """Count a process that has ended."""
        self.total -= 1
        group = self._by_key[key]
        group.score += self.limits.termination_score
        group.count -= 1
        group.age(self.limits.time_score)

    def may_stop(self, key: int, leaving: int) -> bool:
        """Return True if an idle process may be stopped, beside *leaving* ones that are being stopped."""
        group = self._by_key[key]
        return group.count - leaving > group.least
