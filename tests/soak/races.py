"""Races: graceful restarts under mixed load, and two servers on one cache and one lock database."""

from __future__ import annotations

import random
import signal
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.hostile.measure import Budget, Measure, Result
from tests.soak.load import RATE, Load, missing
from tests.soak.processes import left_after, members, segments_of
from tests.soak.site import LoadedServer, loaded_servers
from tests.soak.soak import judge_load, keep_log

BETWEEN = (0.2, 1.5)  # seconds after the new workers have come, before the next restart
STORM = 0.1  # the share of restarts that are followed by another one at once
END = 20.0  # seconds in which old workers end once the clients have closed
FULL = "AH03490"  # httpd's line where workers of old generations take all slots
MIN_RESUMED = 0.5  # of TLS handshakes: tickets of one server remain valid over graceful restarts
FEW_HANDSHAKES = 20  # the first ones of each client resume nothing


def restart(server: LoadedServer, dice: random.Random) -> bool:
    """Restart gracefully; return True if new workers have come."""
    old = set(server.workers())
    server.process.send_signal(signal.SIGUSR1)
    if dice.random() < STORM:
        time.sleep(dice.random() * 0.1)
        server.process.send_signal(signal.SIGUSR1)
    end = time.monotonic() + 30
    while time.monotonic() < end:
        with suppress(OSError):
            if set(server.workers()) - old:
                return True
        time.sleep(0.02)
    return False


def races(budget: Budget, count: int) -> Result:
    """Restart *count* servers on the same stores, one after the other, as often as the budget says."""
    if missing():
        return Result(skipped=missing())
    result = Result()
    segments: set[str] = set()
    restarts = 0
    with (
        TemporaryDirectory(prefix="whimbrel-races-") as stores,
        loaded_servers(Path(stores), count) as servers,
    ):
        with Load([server.ports for server in servers], budget.seed, RATE / 2) as load:
            while restarts < budget.cases and not budget.is_spent:
                time.sleep(budget.random.uniform(*BETWEEN))
                server = servers[restarts % count]
                restarts += 1
                if not restart(server, budget.random):
                    result.failures.append(f"restart {restarts}: no new workers")
                segments |= segments_of(server.process.pid)
            load.pause()
        sessions = [server.process.pid for server in servers]
        result.failures += _old_workers(servers)
        lines = [line for server in servers for line in server.access]
        output = "".join(server.output for server in servers)
        result.failures += judge_load(load, lines, output, Path(stores))
        keep_log(result, f"races-{count}", output)
        ledger = load.ledger
        counts = load.counts
        is_judged = count == 1 and counts["handshakes"] >= FEW_HANDSHAKES
        if is_judged and counts["sessions resumed"] < MIN_RESUMED * counts["handshakes"]:
            result.failures.append(f"{counts['sessions resumed']} of {counts['handshakes']} sessions resumed")
        result.figures.update(
            {
                "restarts": restarts,
                "requests": len(ledger),
                "given back": ledger.unprocessed,
                "given up": ledger.given_up,
                "wrong or lost": ledger.wrong,
                "lines of the log": len(lines),
                "WebSockets": ledger.kinds["WebSocket"] + ledger.kinds["HTTP/2 WebSocket"],
                "slots full": output.count(FULL),
                **counts,
            }
        )
        for server in servers:
            server.process.terminate()
            server.process.wait(30)
        for server, session in zip(servers, sessions, strict=True):
            result.failures += left_after(session, server.root, segments)
    return result


def _old_workers(servers: list[LoadedServer]) -> list[str]:
    """Return a line for each process beside a master and its workers, some time after the last connection."""
    end = time.monotonic() + END
    while True:
        extra = [
            f"{len(members(server.process.pid))} processes of a server long after its last restart"
            for server in servers
            if len(members(server.process.pid)) != 1 + 2
        ]
        if not extra or time.monotonic() > end:
            return extra
        time.sleep(0.2)


MEASURES = (
    Measure(
        "races",
        "In 100 graceful restarts under mixed load no response is lost, no request lacks its line in the "
        "log, and no process, segment or socket is left.",
        lambda budget: races(budget, 1),
        100,
        600,
    ),
    Measure(
        "races-shared",
        "The same with two servers on one cache, one WebDAV tree and one lock database: locks hold across "
        "both, and cached responses are whole.",
        lambda budget: races(budget, 2),
        100,
        600,
    ),
)
