"""Measure of a fleet: generated servers; some are equal or broken, one is endless, one process is killed.

make fleet FLEET="--count 1000 --files 50 --jobs 2 --command check"
make fleet FLEET="--varied --count 1000 --command upgrade": other rules on each, a third equal in pairs
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.support.fleet_trees import write_fleet, write_server
from tests.support.varied_trees import write_varied_fleet
from whimbrel.fleet.formats.text import render
from whimbrel.fleet.pool import ServerLimits
from whimbrel.fleet.run import FleetOptions, run_fleet
from whimbrel.fleet.servers import fleet_servers
from whimbrel.fleet.tasks import CheckTask, FleetTask, UpgradeTask, VerifyTask
from whimbrel.replay.local import processors
from whimbrel.upgrade.check.check import Selection
from whimbrel.upgrade.model import UpgradeOptions
from whimbrel.upgrade.source.named_sources import ConfigArguments

ENDLESS_FILES = 20_000
"""Virtual hosts of the server that takes longer than its limit."""


def main() -> int:
    """Write the servers, work on them, print the report and the figures; return 1 if a server is lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--files", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=processors())
    parser.add_argument("--seconds", type=float, default=30, help="limit of one server")
    parser.add_argument("--command", choices=("check", "upgrade", "verify"), default="check")
    parser.add_argument("--varied", action="store_true", help="servers with other rules, none broken")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        if options.varied:
            write_varied_fleet(base, options.count, options.files)
        else:
            write_fleet(base, options.count, options.files)
            write_server(base / "endless", 1, ENDLESS_FILES)
        return _measure(options, base)


def _task(command: str) -> FleetTask:
    if command == "check":
        return CheckTask(ConfigArguments(), Selection(), UpgradeOptions())
    if command == "upgrade":
        return UpgradeTask(ConfigArguments(), Selection(), UpgradeOptions())
    return VerifyTask(ConfigArguments(), ("2.2", "2.2"), 1000)


def _measure(options: argparse.Namespace, base: Path) -> int:
    servers = fleet_servers([str(base)])
    killed: list[int] = []

    def kill_one(what: str, done: int, total: int) -> None:
        """Kill a process when a third of the servers is done."""
        if what == "servers" and not killed and done > total // 3:
            child = multiprocessing.active_children()[0]
            killed.append(child.pid or 0)
            child.kill()

    begin = time.monotonic()
    fleet_options = FleetOptions(jobs=options.jobs, limits=ServerLimits(seconds=options.seconds))
    report = run_fleet(_task(options.command), servers, fleet_options, kill_one)
    took = time.monotonic() - begin
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    sys.stdout.write(render(report))
    faults = Counter(server.fault.rpartition(": ")[2] for server in report.servers if server.fault)
    for fault, count in faults.most_common():
        print(f"{count:5} {fault}")
    spent = sum(one.ru_utime + one.ru_stime for one in used)
    print(
        f"{took:.0f} s, {spent:.0f} s of processors, {spent / len(servers):.2f} s a server, "
        f"{used[1].ru_maxrss >> 10} MB for a process, exit code {report.exit_code()}"
    )
    return 0 if len(report.servers) == len(servers) else 1


if __name__ == "__main__":
    sys.exit(main())
