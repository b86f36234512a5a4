"""Requests of HTTP/1 at a constant rate: wrk, whose connections wait for the sending times of the rate.

A connection that is free takes the next sending time (bench/pace.lua), in whole milliseconds. A time counts
from the moment of sending. wrk adds times of requests that it assumes were held back by slow ones; they are
removed again, because they weigh a pause of the machine more than the server.
"""

from __future__ import annotations

import re

from bench.documents import Case
from bench.errors import WrongResponse
from bench.load import SCRIPTS, command, done, script
from bench.process import output_of
from bench.servers import Server
from bench.times import Times

SLOTS = "slots"  # how requests at a rate are sent, in results


def measure(server: Server, case: Case, seconds: int, core: int | None, rate: float) -> Times:
    """Send the requests of *case* at *rate* a second."""
    prepared, arguments = script(case, server)
    pace = ["-s", str(SCRIPTS / "pace.lua")]
    rest = ["--", f"{rate:.3f}", *prepared[1:], *arguments[1:]]
    output = output_of(command(server, case, seconds, (pace, rest)), core)
    done(output, case, server)
    return times(output, case)


def times(output: str, case: Case) -> Times:
    """Parse the histogram that pace.lua prints; raises WrongResponse if it is empty."""
    match = re.search(r"^microseconds (\d+) requests (\d+)$", output, re.M)
    assert match is not None, output
    counts = {int(value): int(count) for value, count in re.findall(r"^latency (\d+) (\d+)$", output, re.M)}
    rounds = int(match[2]) // case.connections
    counts = measured(counts, int(match[1]) // rounds) if rounds else counts
    if not counts:
        raise WrongResponse(f"{case.path}: no answer in the time that was measured")
    found = [value / 1000 for value in sorted(counts) for _ in range(counts[value])]
    return Times(found, int(match[1]) / 1e6)


def measured(counts: dict[int, int], expected: int) -> dict[int, int]:
    """Return a histogram without the times that wrk added.

    For each time above twice the *expected* one wrk adds that time less once, twice ... the expected one, as
    long as more than the expected one remains.
    """
    left = dict(counts)
    for value in sorted(counts, reverse=True):
        if value < 2 * expected:
            break
        for less in range(value - expected, expected, -expected):
            left[less] -= left[value]
    return {value: count for value, count in left.items() if count}
