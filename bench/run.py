"""Runs the benchmark: python -m bench.run [--seconds 5] [--rounds 3] [--cases 1k,404] [--servers whimbrel,apache] [--json FILE].

One core answers, the other asks (taskset); the rounds go through all servers in turn, so that a machine that gets slower
gets slower for all.  Exit code 1 when a server does not start or gives a wrong answer.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console

from bench.documents import CASES, Case, lay_out
from bench.extras import check_seconds, idle_memory, room_for, start_seconds
from bench.load import Sample, WrongAnswer, check_answer, measure
from bench.page import write_page
from bench.process import NotStarted, Running
from bench.report import extras_table, model, table
from bench.servers import Server, prepare, program
from whimbrel.testing.ports import free_port

NAMES = ("whimbrel", "apache", "nginx", "granian")
RESULTS = Path(__file__).with_name("results.json")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=int, default=5, help="length of one measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cases", default=",".join(c.name for c in CASES))
    parser.add_argument("--servers", default=",".join(NAMES))
    parser.add_argument("--json", type=Path, default=RESULTS)
    parser.add_argument("--idle", type=int, default=10_000, help="idle connections whose memory is measured, 0 for none")
    parser.add_argument("--extras", action=argparse.BooleanOptionalAction, default=True, help="start-up, -t, idle connections")
    parser.add_argument("--docs", type=Path, help="write the page of figures and plots to this folder")
    return parser.parse_args()


def cores() -> tuple[int | None, int | None]:
    """The core of the servers and that of wrk; (None, None) where there is only one, or no taskset."""
    mine = sorted(os.sched_getaffinity(0))
    return (mine[0], mine[1]) if len(mine) > 1 and shutil.which("taskset") else (None, None)


def present(wanted: list[str], console: Console) -> list[str]:
    """Those of the wanted servers that this machine has; says which it leaves out."""
    for name in wanted:
        if program(name) is None:
            console.print(f"{name}: not on this machine, left out")
    return [name for name in wanted if program(name)]


def version(server: Server) -> str:
    """The first line of what the server says about itself."""
    done = subprocess.run(server.version, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip().partition("\n")[0]


def rounds(running: list[Running], cases: list[Case], options: argparse.Namespace, core: int | None) -> dict[str, dict[str, list[Sample]]]:
    """All measurements, interleaved: case -> server -> one sample a round."""
    samples: dict[str, dict[str, list[Sample]]] = {c.name: {n: [] for n in c.servers if n in {r.server.name for r in running}} for c in cases}
    pairs = [(case, one) for case in cases for one in running if one.server.name in case.servers]
    for case, one in pairs:
        check_answer(case, one.server)
    for _ in range(options.rounds):
        for case, one in pairs:
            samples[case.name][one.server.name].append(measure(one, case, options.seconds, core))
    return samples


def measured(options: argparse.Namespace, console: Console, root: Path, names: list[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Every site in turn: its servers are started, asked, stopped.  The results by case, and the servers' versions."""
    mine, other = cores()
    if mine is None:
        console.print("one core only, or no taskset: server and load generator share it, the figures are rough")
    wanted = [c for c in CASES if c.name in options.cases.split(",")]
    samples: dict[str, dict[str, list[Sample]]] = {}
    versions: dict[str, str] = {}
    for site in dict.fromkeys(c.site for c in wanted):
        cases = [c for c in wanted if c.site == site and (not c.http2 or shutil.which("h2load"))]
        servers = [prepare(name, root, free_port(), site) for name in names if any(name in c.servers for c in cases)]
        with ExitStack() as stack:
            running = [stack.enter_context(Running(server, mine)) for server in servers]
            samples |= rounds(running, cases, options, other)
        versions |= {s.name: version(s) for s in servers}
        console.print(f"{site}: {', '.join(c.name for c in cases)}")
    return model(samples), versions


def extras(options: argparse.Namespace, root: Path, names: list[str]) -> dict[str, dict[str, float]]:
    """Start-up, -t and the memory of idle connections, by row and server."""
    out: dict[str, dict[str, float]] = {}
    for site in ("plain", "hosts"):
        for name in (n for n in names if n in ("whimbrel", "apache")):
            folder = root / f"extras-{site}-{name}"
            folder.mkdir()
            lay_out(folder)
            server = prepare(name, folder, free_port(), site)
            out.setdefault(f"start, {site} (s)", {})[name] = start_seconds(server, options.rounds)
            out.setdefault(f"-t, {site} (s)", {})[name] = check_seconds(server, options.rounds)
    count = room_for(options.idle)
    for name in names if options.idle else ():
        folder = root / f"extras-idle-{name}"
        folder.mkdir()
        lay_out(folder)
        with Running(prepare(name, folder, free_port(), "idle"), None) as running:
            alive, memory = idle_memory(running, count)
        out.setdefault(f"{count} idle connections: still open", {})[name] = alive
        out.setdefault(f"{count} idle connections (MB)", {})[name] = memory / 1e6
    return out


def bench(options: argparse.Namespace, console: Console, root: Path) -> None:
    """Lays out, starts, measures, reports; raises NotStarted or WrongAnswer."""
    os.chmod(root, 0o755)
    lay_out(root)
    names = present(options.servers.split(","), console)
    results, versions = measured(options, console, root, names)
    about = {"machine": platform.processor() or platform.machine(), "cores": os.cpu_count(), "seconds": options.seconds, "rounds": options.rounds}
    more = extras(options, root, names) if options.extras else {}
    options.json.write_text(json.dumps({**about, "servers": versions, "cases": results, "extras": more}, indent=1) + "\n")
    table(results, console)
    extras_table(more, console)
    if options.docs is not None:
        write_page(options.docs, json.loads(options.json.read_text()))


def main() -> int:
    options, console = arguments(), Console(width=None if sys.stdout.isatty() else 120)
    if shutil.which("wrk") is None:
        console.print("wrk is not on this machine: nothing measured")
        return 1
    with tempfile.TemporaryDirectory(prefix="whimbrel-bench-") as folder:
        try:
            bench(options, console, Path(folder))
        except (NotStarted, WrongAnswer) as problem:
            console.print(f"{type(problem).__name__}: {problem}", markup=False)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
