"""The patterns of two sides, checked: texts that separate a pair are asked for as requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final

from whimbrel.verify.config_lines import SideLines
from whimbrel.verify.derive.hosts import Entrance
from whimbrel.verify.derive.probes import ProbeSource
from whimbrel.verify.patterns.pairs import PatternPair
from whimbrel.verify.patterns.requests import PatternRequest, requests_of
from whimbrel.verify.probe import Probe
from whimbrel.verify.verification import NotDecided

MAX_PAIRS: Final = 500
"""Pairs of patterns that are compared; further ones are not decided."""
MAX_ROUTES: Final = 4
"""Servers that are asked about a pattern outside of virtual hosts."""
_MAX_DIFFERENCES: Final = 6
"""Different answers after which no more requests are sent for a pair."""


class PatternChecks:
    """The comparison of the patterns of two sides."""

    def __init__(self, sides: tuple[SideLines, SideLines], source: ProbeSource) -> None:
        self.sides = sides
        self.source = source

    def run(
        self,
        pairs: Iterable[PatternPair],
        compare: Callable[[Probe], None],
        differences: Callable[[], int],
        report_progress: Callable[[int], None],
    ) -> list[NotDecided]:
        """Call *compare* for requests that separate patterns; *differences* counts what it has found.

        *report_progress* is called with the number of each pair, and may raise to end the run.

        Return the pairs that differ, or are not known to be equal, and for which no answer differs.
        """
        found: list[NotDecided] = []
        for number, pair in enumerate(pairs):
            if number >= MAX_PAIRS:
                found.append(NotDecided(f"more than {MAX_PAIRS} patterns differ; the rest was not compared"))
                break
            report_progress(number)
            undecided = self._check(pair, compare, differences)
            if undecided is not None:
                found.append(undecided)
        return found

    def _check(
        self, pair: PatternPair, compare: Callable[[Probe], None], differences: Callable[[], int]
    ) -> NotDecided | None:
        before = differences()
        last: Probe | None = None
        hosts = tuple(scope.host for scope in pair.scopes)
        for route in islice(self.source.routes_to(hosts), MAX_ROUTES):
            for request in self._requests(pair, route):
                probe = request.facts.applied(route.probe(request.target))
                if not self._reaches(route, probe):
                    continue
                last = last or probe
                self._compare_at(request, probe, compare)
                if differences() - before >= _MAX_DIFFERENCES:
                    return None
        if differences() > before or pair.is_equal:
            return None
        return NotDecided(f"{pair}" + ("; no answer differs" if last is not None else ""), last)

    def _requests(self, pair: PatternPair, route: Entrance) -> list[PatternRequest]:
        lines = self.sides[1]
        served = lines.served(self.source.server_of(lines, route))
        return list(requests_of(pair, lines, served, lines.side.runtime.time))

    def _reaches(self, route: Entrance, probe: Probe) -> bool:
        """Return True if *probe*, which may have another Host field, is for the servers of *route*."""
        if probe.host == route.host:
            return True
        other = Entrance(probe.host.partition(":")[0].lower(), route.address, route.port, route.is_tls)
        return self.source.server_keys(other) == self.source.server_keys(route)

    def _compare_at(self, request: PatternRequest, probe: Probe, compare: Callable[[Probe], None]) -> None:
        """Compare *probe* at the time and in the tree that *request* needs."""
        runtimes = [lines.side.runtime for lines in self.sides]
        times = [runtime.time for runtime in runtimes]
        for lines, runtime in zip(self.sides, runtimes, strict=True):
            runtime.time = request.now if request.now is not None else runtime.time
            if request.directory:
                lines.side.probing.assume_directory(request.directory)
        try:
            compare(probe)
        finally:
            for runtime, moment in zip(runtimes, times, strict=True):
                runtime.time = moment
